tidemark peak frag.db --format csv | sed -n '/^# oom/,$p'
