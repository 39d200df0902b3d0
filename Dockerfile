# Linux with Python 3.11 for systems that are neither; `docker build -t kgb-gym . && docker run --rm -it kgb-gym`.
# `--build-arg PIP_EXTRA_INDEX_URL=...` takes the CPU build of torch from an index that has it.
FROM python:3.11-slim

ARG PIP_EXTRA_INDEX_URL
# gcc: Triton builds its launcher on a machine with a GPU.
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc git libc6-dev make \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /kgb-gym
COPY . .
RUN make install

ENV PATH="/kgb-gym/.venv/bin:${PATH}"
CMD ["make", "demo"]
