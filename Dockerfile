# AdHominem as a container that needs no network when it runs, as TIRA wants it:
#   docker build -t adhominem .
#   docker run --rm --network none -v "$PWD/in:/input:ro" -v "$PWD/out:/output" adhominem
# It uses the model that comes with the package; one of your own is mounted and named:
#   docker run ... -v "$PWD/model:/model:ro" -e ADHOMINEM_MODEL=/model adhominem
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY adhominem adhominem
RUN pip install --no-cache-dir --prefix /installed --constraint constraints.txt '.[documents]'

FROM python:3.11-slim
COPY --from=build /installed /usr/local
ENV OPENBLAS_NUM_THREADS=1 PYTHONUNBUFFERED=1
RUN useradd --create-home examiner && mkdir /output && chown examiner /output
USER examiner
ENTRYPOINT ["adhominem"]
CMD ["predict", "-i", "/input", "-o", "/output", "--jobs", "2"]
