internal import Foundation

/// A foreign store of S3 that verifies signatures: moto, from the virtual environment of `deploy/prepare test`.
/// Enable a test that uses it by ``isInstalled``.
package final class MotoServer: Sendable {
    package static var isInstalled: Bool { PythonScript.has("moto.server") }

    package let port: Int
    package let accessKey: String
    package let secretKey: String
    private let process: ChildProcess

    /// An object as another client reads it.
    package struct Object: Sendable, Equatable {
        package var size: Int
        package var sha256: String
        package var etag: String
        /// The metadata `title`.
        package var title: String
    }

    /// Starts the server and waits for its bucket “media”.
    /// - Parameter directory: an existing directory for its logs.
    package init(in directory: String) async throws {
        guard let python = PythonScript.interpreter(with: "moto.server") else {
            throw Missed("no Python has moto; deploy/prepare test installs it")
        }
        let (script, keys) = (PythonScript.path("s3-peer.py"), "\(directory)/keys")
        let (port, process) = try await startPeer("moto", log: "\(directory)/moto") { port in
            [python, script, "serve", "\(port)", keys]
        }
        do {
            let lines = try await awaited("the bucket of moto") {
                if let ending = process.ending { throw Missed("moto ended with \(ending): \(process.errors)") }
                return contents(of: keys).map { String(decoding: $0, as: UTF8.self).split(separator: "\n") }
            }
            guard lines.count == 2 else { throw Missed("moto has made no access key") }
            (accessKey, secretKey) = (String(lines[0]), String(lines[1]))
        } catch {
            await process.finish()
            throw error
        }
        (self.port, self.process) = (port, process)
    }

    /// `http://127.0.0.1:<port>`
    package var origin: String { "http://127.0.0.1:\(port)" }

    /// Reads an object with boto3.
    /// - Returns: the object, and the number of unfinished uploads.
    package func read(_ key: String) async throws -> (object: Object, uploads: Int) {
        let lines = try await PythonScript.lines(
            "s3-peer.py", needing: "moto.server", ["read", "\(port)", accessKey, secretKey, key])
        guard lines.count == 5, let size = Int(lines[0]), let uploads = Int(lines[4]) else {
            throw Missed("s3-peer.py has printed \(lines)")
        }
        return (Object(size: size, sha256: lines[1], etag: lines[2], title: lines[3]), uploads)
    }
}

extension MotoServer: StoppableServer {
    package func stop() async { await process.finish() }
}
