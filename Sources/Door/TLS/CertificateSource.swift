package import Commands
internal import NIOSSL
internal import Synchronization

/// The certificate of a door, which may be replaced while it runs: new connections get the new one.
package final class CertificateSource: Sendable {
    private struct State {
        var certificate: Certificate
        var isCurrent = true
    }

    private let files: CertificateFiles
    private let state: Mutex<State>

    /// Reads the files. Blocks.
    package init(_ files: CertificateFiles) throws(DoorServerError) {
        self.files = files
        state = Mutex(State(certificate: try Certificate(files)))
    }

    /// Reads the files again. Blocks. A pair that cannot be used changes nothing.
    package func reload() throws(DoorServerError) {
        do throws(DoorServerError) {
            let certificate = try Certificate(files)
            state.withLock { $0 = State(certificate: certificate) }
        } catch {
            state.withLock { $0.isCurrent = false }
            throw error
        }
    }

    /// When the certificate in use expires.
    package var expires: Timestamp { state.withLock { $0.certificate.expires } }
    /// Whether the last reading of the files gave the certificate in use.
    package var isCurrent: Bool { state.withLock { $0.isCurrent } }

    func handler() -> NIOSSLServerHandler { NIOSSLServerHandler(context: state.withLock { $0.certificate.context }) }
}
