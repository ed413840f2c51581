"""How gunicorn serves the site: `gunicorn --config python:config.web_server config.wsgi`.

One place for the image, docker-compose.yml and bench/workspace.py, so that what is measured is what is shipped. The
command line overrides each of them. Figures: bench/README.md.
"""

#: Processes: one per core of a small machine; Python computes on one thread at a time in each.
workers = 2
#: Requests at once in a process; while one waits for the database another computes.
threads = 4
#: Seconds an idle connection is kept: a workspace saves every few seconds and should not connect anew each time.
keepalive = 30
