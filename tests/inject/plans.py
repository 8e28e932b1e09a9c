"""What is failed, and by what: a plan for each kind of call and each way in which it can fail."""
import collections
import errno

MEMORY = "malloc,calloc,realloc"
WRITE = "write,pwrite64"
READ = "read,pread,pread64"
TRUNCATE = "ftruncate,ftruncate64"
SYNC = "fsync,fdatasync"
NAMES = "statfs,access,realpath,readlink,getcwd"
MOVE = "rename,link"
OPEN = "open,open64,opendir,fopen"
MAP = "mmap,mmap64"
STEPS = "sqlite3_step,sqlite3_exec,sqlite3_prepare_v3"
BINDS = "sqlite3_bind_int64,sqlite3_bind_null,sqlite3_bind_text"
SHORT = 0  # half of the bytes
ONCE, ALL = 1, 0
SQLITE_BUSY, SQLITE_NOMEM, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_FULL = 5, 7, 10, 11, 13


class Plan(collections.namedtuple("Plan", "calls code run")):
    def __str__(self):
        code = errno.errorcode.get(self.code, self.code) if "sqlite3" not in self.calls \
            else "SQLite's %d" % self.code
        return "%s: %s %s" % (self.calls, "short" if self.code == SHORT else code,
                              "once" if self.run == ONCE else "from then on")


FILES = [Plan("pwrite64", errno.ENOSPC, ALL), Plan("write", errno.EINTR, ONCE),
         Plan(WRITE, errno.EIO, ONCE), Plan(WRITE, errno.EINTR, ONCE), Plan(WRITE, SHORT, ONCE),
         Plan(TRUNCATE, errno.EIO, ONCE), Plan(SYNC, errno.EIO, ONCE),
         Plan("unlink", errno.EIO, ONCE), Plan(MOVE, errno.EXDEV, ONCE),
         Plan(NAMES, errno.EIO, ONCE)]
OPENING = [Plan(OPEN, errno.EMFILE, ONCE), Plan(OPEN, errno.EINTR, ONCE),
           Plan(OPEN, errno.EMFILE, ALL),
           Plan(MAP, errno.ENOMEM, ONCE), Plan(MAP, errno.ENOMEM, ALL),
           Plan(READ, errno.EIO, ONCE), Plan(READ, errno.EINTR, ONCE), Plan(READ, SHORT, ONCE),
           Plan("fcntl64", errno.EAGAIN, ONCE), Plan("fcntl64", errno.EIO, ONCE)]
HEAP = [Plan(MEMORY, errno.ENOMEM, ONCE), Plan(MEMORY, errno.ENOMEM, ALL)]
SQL = [Plan(STEPS, SQLITE_IOERR, ONCE), Plan(STEPS, SQLITE_NOMEM, ONCE),
       Plan(STEPS, SQLITE_FULL, ALL), Plan(STEPS, SQLITE_BUSY, ONCE),
       Plan(BINDS, SQLITE_NOMEM, ONCE),
       Plan("sqlite3_wal_checkpoint_v2", SQLITE_IOERR, ONCE)]
CORRUPT = [Plan(STEPS, SQLITE_CORRUPT, ONCE)]
SOCKETS = [Plan("socket,bind,listen", errno.EMFILE, ONCE), Plan("accept4", errno.EMFILE, ONCE),
           Plan("accept4", errno.EINTR, ONCE), Plan("accept4", errno.EMFILE, ALL),
           Plan("getsockopt", errno.ENOBUFS, ONCE), Plan("sendmsg", errno.ENOBUFS, ONCE),
           Plan("sendmsg", errno.EINTR, ONCE), Plan("recv", errno.EINTR, ONCE),
           Plan("recv", errno.ECONNRESET, ONCE)]
EVENTS = [Plan("epoll_create1,eventfd,signalfd,pipe2", errno.EMFILE, ONCE),
          Plan("epoll_ctl", errno.ENOMEM, ONCE), Plan("epoll_wait", errno.EINTR, ONCE),
          Plan("poll", errno.EINTR, ONCE), Plan("getrandom", errno.EINTR, ONCE)]
PROCESSES = [Plan("fork", errno.EAGAIN, ONCE), Plan("waitpid,waitid", errno.EINTR, ONCE),
             Plan("pthread_create", errno.EAGAIN, ONCE), Plan("syscall", errno.EMFILE, ONCE),
             Plan("syscall", errno.ENOSYS, ALL)]

# A step that failed taken for its end is an answer that lacks rows: with --few too every command has it.
ALWAYS = Plan(STEPS, SQLITE_IOERR, ONCE)

RECORD = HEAP + FILES + OPENING + SQL + SOCKETS + EVENTS + PROCESSES
STORE = HEAP + FILES + OPENING + SQL  # as far as the file is concerned
REPORT = HEAP + OPENING + SQL + CORRUPT
IMPORT = STORE
EXPORT = STORE + CORRUPT
REPAIR = IMPORT

# The rows of the table at the end.
GROUPS = [("memory", HEAP), ("writing", FILES), ("opening, reading, mapping", OPENING),
          ("sockets, events", SOCKETS + EVENTS), ("processes, threads", PROCESSES),
          ("statements", SQL + CORRUPT)]
