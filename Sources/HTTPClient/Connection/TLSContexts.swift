internal import Glibc
internal import Host
internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// TLS contexts by rule: at least TLS 1.2 (RFC 8996), with the trust roots of the system and of the rule.
/// Reading the files of a context takes tens of milliseconds. So each context is made once, on another
/// thread, and again only when one of its files has changed.
final class TLSContexts: Sendable {
    private struct Entry {
        var context: NIOSSLContext
        var stamps: [FileStamp]
    }

    private let entries = Mutex<[TLSSettings.Rule: Entry]>([:])

    /// - Returns: a future that fails with ``HTTPError/local(_:)`` where a file cannot be read.
    func context(for rule: TLSSettings.Rule, on loop: any EventLoop) -> EventLoopFuture<NIOSSLContext> {
        let promise = loop.makePromise(of: NIOSSLContext.self)
        let cached = entries.withLock { $0[rule] }
        if let cached, rule.files.isEmpty {
            promise.succeed(cached.context)
        } else {
            BlockingPool.shared.perform {
                promise.completeWith(Result { try self.load(rule) })
            }
        }
        return promise.futureResult
    }

    private func load(_ rule: TLSSettings.Rule) throws -> NIOSSLContext {
        let stamps = rule.files.map(FileStamp.init)
        if let entry = entries.withLock({ $0[rule] }), entry.stamps == stamps { return entry.context }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        do {
            configuration.additionalTrustRoots = try rule.trustRootsFiles.map {
                .certificates(try NIOSSLCertificate.fromPEMFile($0))
            }
            if let identity = rule.identity {
                configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(identity.certificateFile)
                    .map { .certificate($0) }
                configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: identity.keyFile, format: .pem))
            }
            let context = try NIOSSLContext(configuration: configuration)
            entries.withLock { $0[rule] = Entry(context: context, stamps: stamps) }
            return context
        } catch {
            throw HTTPError.local(
                "the certificates in \(rule.files.joined(separator: ", ")) cannot be used: \(error)")
        }
    }
}

extension TLSSettings.Rule {
    fileprivate var files: [String] {
        trustRootsFiles + (identity.map { [$0.certificateFile, $0.keyFile] } ?? [])
    }
}

/// The inode and the modification time of a file. They differ once the file has been replaced or written to.
struct FileStamp: Equatable {
    private var inode: UInt64 = 0
    private var seconds = 0
    private var nanoseconds = 0

    init(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        inode = UInt64(status.st_ino)
        (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }
}
