tidemark peak short.db --format json | sed -n '/"oom"/,$p'
