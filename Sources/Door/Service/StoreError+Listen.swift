internal import Glibc
internal import Host
internal import NIOCore
internal import Store

extension StoreError {
    /// Why the door cannot listen at an address.
    init(listening error: any Error, at address: ListenAddress) {
        let attempt = "cannot listen at \(address): "
        if error is SocketAddressError.UnknownHost {
            self.init(.invalid, "\(attempt)the name of the host is not known; use an address of this machine")
            return
        }
        if let error = error as? DoorServerError {
            self.init(.exhausted, error.description)
            return
        }
        guard let error = error as? IOError else {
            self.init(.invalid, "\(attempt)\(error); choose an address of this machine")
            return
        }
        switch error.errnoCode {
        case EADDRINUSE:
            self.init(.busy, "\(attempt)another program listens there; end it, or choose another port with --listen")
        case EACCES:
            self.init(.permission, "\(attempt)ports below 1024 need root or CAP_NET_BIND_SERVICE; choose another port")
        case EADDRNOTAVAIL:
            self.init(.invalid, "\(attempt)this machine does not have the address; choose one that it has")
        default: self.init(.failed, attempt + SystemError(error.errnoCode).words)
        }
    }
}
