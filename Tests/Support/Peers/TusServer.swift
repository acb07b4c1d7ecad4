internal import Foundation

/// A real tus server on a free port of 127.0.0.1: tuspyserver, from the virtual environment of
/// `deploy/prepare test`. Enable a test that uses it by ``isInstalled``.
package final class TusServer: Sendable {
    package static var isInstalled: Bool { access(PythonScript.peers, X_OK) == 0 }

    package let port: Int
    private let files: String
    private let process: ChildProcess

    /// Starts the server and waits until it accepts connections.
    /// - Parameter directory: an existing directory for its files and logs.
    package init(in directory: String) async throws {
        let script = "\(directory)/tus.py"
        let files = "\(directory)/tus"
        try Data(Self.script.utf8).write(to: URL(fileURLWithPath: script))
        (port, process) = try await startPeer("tuspyserver", log: "\(directory)/tus") { port in
            [PythonScript.peers, script, "\(port)", files]
        }
        self.files = files
    }

    /// The URL at which uploads are created.
    package var endpoint: String { "http://127.0.0.1:\(port)/files/" }

    /// The received bytes of an upload.
    /// - Parameter url: the URL of the upload.
    package func contents(of url: String) -> [UInt8]? {
        url.split(separator: "/").last.flatMap { TestSupport.contents(of: "\(files)/\($0)") }
    }

    /// Removes the lock of an upload. A request locks its upload; after an interrupted connection the next
    /// request would wait 30 s for the lock, in the only thread that could notice the end of the connection,
    /// and be answered 503.
    package var isWriting: Bool {
        let locks = try? FileManager.default.contentsOfDirectory(atPath: "\(files)/.locks")
        return locks?.isEmpty == false
    }

    /// Deletes an upload.
    package func remove(_ url: String) {
        guard let name = url.split(separator: "/").last else { return }
        for ending in ["", ".info"] { unlink("\(files)/\(name)\(ending)") }
    }

    package func stop() async { await process.finish() }

    private static let script = """
        import sys
        import uvicorn
        from fastapi import FastAPI
        from tuspyserver import create_tus_router

        app = FastAPI()
        app.include_router(create_tus_router(prefix="files", files_dir=sys.argv[2]))
        uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")

        """
}
