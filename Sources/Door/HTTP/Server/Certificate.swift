package import Commands
internal import Host
package import NIOSSL
internal import Synchronization

/// A certificate and its key, ready for handshakes.
package struct Certificate: Sendable {
    package let context: NIOSSLContext
    package let expires: Timestamp

    /// Reads both files. Blocks.
    /// - Throws: ``DoorServerError`` with the file that cannot be used, and the remedy.
    package init(_ files: CertificateFiles) throws(DoorServerError) {
        let chain: [NIOSSLCertificate]
        do { chain = try NIOSSLCertificate.fromPEMBytes(Array(try Self.text(files.chain, "certificate").utf8)) } catch {
            throw (error as? DoorServerError)
                ?? DoorServerError("“\(files.chain)” has no certificate in PEM form; name the file of the chain")
        }
        guard let leaf = chain.first else {
            throw DoorServerError("“\(files.chain)” has no certificate in PEM form; name the file of the chain")
        }
        let key: NIOSSLPrivateKey
        do { key = try NIOSSLPrivateKey(bytes: Array(try Self.text(files.key, "key").utf8), format: .pem) } catch {
            throw (error as? DoorServerError)
                ?? DoorServerError(
                    "“\(files.key)” has no private key in PEM form, or an encrypted one; name the file of the key")
        }
        do { context = try Self.context(chain, key) } catch {
            throw DoorServerError(
                "the key “\(files.key)” does not belong to the first certificate of “\(files.chain)”; put the "
                    + "certificate of the door first, and name its key")
        }
        expires = Timestamp(milliseconds: Int64(leaf.notValidAfter) * 1000)
    }

    private static func context(_ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        // Over HTTP/2 a body that was cut looks complete.
        configuration.applicationProtocols = ["http/1.1"]
        return try NIOSSLContext(configuration: configuration)
    }

    private static func text(_ path: String, _ name: String) throws(DoorServerError) -> String {
        do throws(SystemError) { return try TextFile.contents(of: path) } catch {
            throw DoorServerError("cannot read the \(name) of the door: \(error)")
        }
    }
}

/// The files of a certificate, in PEM form.
package struct CertificateFiles: Sendable, Equatable {
    /// The certificate of the door, then those that lead to its root.
    package var chain: String
    package var key: String

    package init(chain: String, key: String) {
        self.chain = chain
        self.key = key
    }
}

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
