# The system that dc-memtrace is built and tested in:
#
#   docker build --target system -t dc-memtrace .      # the tools, torch and what the tests need
#   docker build .                                     # the same, and then builds and tests all
FROM debian:12 AS system
RUN apt-get update -q && apt-get install -q -y --no-install-recommends ca-certificates sudo \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /dc-memtrace
COPY scripts scripts
# The functions that scripts/test begins with: what they install is then there.
RUN bash -c 'source scripts/lib/setup.sh && dcmt_setup_packages && dcmt_setup_python && dcmt_setup_test_requirements'
# Also for a working tree elsewhere, as that of a development container.
ENV DCMT_PYTHON=/dc-memtrace/.venv/bin/python

FROM system
COPY . .
RUN scripts/test
