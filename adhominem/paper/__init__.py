"""*Deep Bayes Factor Scoring for Authorship Verification*: its sections, and where each is.

The files are in reading order; paths with a folder begin at the package. Equations are numbered
as in the paper (arXiv:2008.10105).

    | the paper                              | file               | name                         |
    |----------------------------------------|--------------------|------------------------------|
    | all settings that it used              | config.py          | PRESETS                      |
    | 3.1 topic masking                      | text/vocabulary.py | Vocabulary.build             |
    | 3.2 sliding window                     | text/vocabulary.py | spread_windows               |
    | 3.2 contextual prefix                  | text/vocabulary.py | prefix_tokens                |
    | 3.3 train and dev                      | pairs/split.py     | split                        |
    | Algorithm 1, MakeTwoGroups             | sampling.py        | make_two_groups              |
    | Algorithm 2, CleanAfterSampling        | sampling.py        | sample_pairs                 |
    | Algorithm 3, SamplePairs               | sampling.py        | sample_pairs                 |
    | 3.3 new pairs in every epoch           | sampling.py        | draw_epoch                   |
    | 2.1 characters to a word encoding      | network.py         | CharacterCNN                 |
    | 2.1 the two BiLSTMs                    | network.py         | MaskedBiLSTM                 |
    | 2.1 their attentions                   | network.py         | Attention                    |
    | 2.1 Eq. 1, a document to its LEV       | network.py         | Network                      |
    | 2.1 word embeddings to begin with      | word_vectors.py    | read_word_vectors            |
    | 2.1 Eq. 2, the distance                | losses.py          | squared_distance             |
    | 2.1 Eq. 3, the contrastive loss        | losses.py          | contrastive_loss             |
    | 2.2 Eq. 4 to 6, the Gaussian model     | two_covariance.py  | TwoCovariance                |
    | 2.2 Eq. 11 to 13, the Bayes factor     | two_covariance.py  | TwoCovariance.log_bayes_factor |
    | 2.2 the Bayes factor, differentiable   | losses.py          | TwoCovarianceLayer           |
    | 2.2 Cholesky decomposition             | losses.py          | TwoCovarianceLayer.factors   |
    | 2.2 Eq. 15, score to probability       | score/decision.py  | probability_same_author      |
    | 2.2 Eq. 16, its loss                   | losses.py          | bayes_factor_loss            |
    | both losses together                   | losses.py          | SiameseModel.losses          |
    | 4 the training, step by step           | training.py        | Trainer.epoch                |
    | by several processes                   | distributed.py     | gather_levs                   |
    | 4 Eq. 18, entropies                    | losses.py          | TwoCovarianceLayer.entropies |
    | 2.3 Eq. 17, the ensemble               | score/decision.py  | ensemble_probability         |
    | 2.3 non-answers by grid search         | evaluation/pan.py  | best_delta                   |
    | 4 a row of Table 2                     | evaluation/pan.py  | table_row                    |
    | 4 attention heatmaps                   | runtime.py         | Runtime.attend               |

Its successor of 2021 (arXiv:2106.11196 and 2106.15825), the preset `pan21`:

    | DML, the kernel of the distance        | losses.py          | KernelSimilarity             |
    | BFS, behind a dense layer              | losses.py          | SiameseModel.project         |
    | UAL, uncertainty adaptation            | uncertainty.py     | UncertaintyAdaptation        |
    | UAL, its loss                          | uncertainty.py     | adaptation_loss              |
    | pairs of four classes                  | sampling.py        | PairOptions                  |
    | O2D2, undecidable pairs                | uncertainty.py     | Detector                     |
    | O2D2, the second stage                 | uncertainty.py     | train_detector               |
    | all four stages at inference           | successor.py       | Successor.stages             |

Inference has three equivalent implementations: in NumPy (`runtime.py`, `recurrence.py`), in C
(`fused.c`), and in torch on a GPU (`device.py`). Training on a GPU has its recurrence in one kernel
(`device_recurrence.py`). Tests compare all of them with `network.py`.

Where the paper's formulas have slips (the sign of Eq. 16, the constant of Eq. 13, "covariance" for
precision, the condition of Algorithm 2), the correct form is implemented; docs/paper.md lists
them. The card of a shipped model says which parts it uses: it adds n-grams, and scores by the
three-level model of `score/`.
"""
