# One image for every service: the web process, the workers and the one-shot migration (see docker-compose.yml).
FROM python:3.13-slim AS packages
RUN pip install --no-cache-dir uv==0.13.9 && python -m venv /opt/cutline
WORKDIR /build
COPY requirements.txt ./
RUN uv pip install --no-cache --python /opt/cutline/bin/python --require-hashes -r requirements.txt

FROM python:3.13-slim
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/cutline --create-home cutline
COPY --from=packages /opt/cutline /opt/cutline
ENV PATH=/opt/cutline/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    CUTLINE_VAR=/var/lib/cutline \
    CUTLINE_STATIC=/srv/static
WORKDIR /srv/cutline
COPY . .
# Hashed names are made here, once; a throw-away folder takes the key an embedded start would write.
RUN CUTLINE_VAR=/tmp/build python manage.py collectstatic --noinput && rm -r /tmp/build
USER 10001
EXPOSE 8000
CMD ["gunicorn", "--config", "python:config.web_server", "config.wsgi"]
