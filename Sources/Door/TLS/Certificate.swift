package import Commands
internal import Host
package import NIOSSL

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
