# AdHominem as a container that needs no network when it runs, as TIRA expects it:
#   docker build -t adhominem .
#   docker run --rm --network none --user "$(id -u)" -v "$PWD/in:/input:ro" -v "$PWD/out:/output" adhominem
# The web page and the REST interface:
#   docker run --rm -p 127.0.0.1:8000:8000 -e ADHOMINEM_TOKEN=secret adhominem serve --host 0.0.0.0
# It uses the model that comes with the package. To use one of your own, mount and name it:
#   docker run ... -v "$PWD/model:/model:ro" -e ADHOMINEM_MODEL=/model adhominem
FROM python:3.11-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
WORKDIR /source
COPY pyproject.toml setup.py constraints.txt README.md LICENSE ./
COPY adhominem adhominem
RUN pip install --no-cache-dir --prefix /installed --constraint constraints.txt '.[documents,serve]'

FROM python:3.11-slim
COPY --from=build /installed /usr/local
ENV OPENBLAS_NUM_THREADS=1 PYTHONUNBUFFERED=1
RUN useradd --create-home examiner && mkdir /output && chown examiner /output
USER examiner
EXPOSE 8000
ENTRYPOINT ["adhominem"]
CMD ["predict", "-i", "/input", "-o", "/output", "--jobs", "2"]
