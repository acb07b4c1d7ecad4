internal import Commands

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension StoreError {
    /// What the operating system refused.
    /// - Parameter what: what happened, to what, without a full stop.
    package init(errno code: CInt, _ what: String) {
        let kind: Code =
            switch code {
            case ENOSPC, EDQUOT, EIO, EFBIG: .full
            case ENOENT: .missing
            case EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN, EINTR: .exhausted
            default: .permission
            }
        let advice =
            code == EMFILE
            ? "; raise the limit (ulimit -n), or try again" : kind == .exhausted ? "; try again" : ""
        guard code != EFBIG else {
            self.init(kind, "\(what): it would be larger than this process may write (ulimit -f).")
            return
        }
        self.init(kind, "\(what): \(String(cString: strerror(code)))\(advice).")
    }

    static func noCommand(_ id: CommandID) -> StoreError {
        StoreError(.notFound, "There is no command \(id).", id: id)
    }
}
