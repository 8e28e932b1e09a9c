tidemark peak limit.db --format json | sed -n '/"oom"/,$p'
