internal import Foundation

/// A real tus server on a free port of 127.0.0.1: tuspyserver, from the virtual environment that `deploy/prepare test` makes.
/// For tests that are enabled where ``isInstalled``.
package final class TusServer: Sendable {
    package static var isInstalled: Bool { access(python, X_OK) == 0 }

    /// In the cache of the user: `deploy/prepare` says the same.
    private static var python: String {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache"
        return "\(cache)/sluice/peers/bin/python"
    }

    package let port: Int
    private let files: String
    private let process: ChildProcess

    /// Starts it and waits until it takes connections.
    /// - Parameter directory: an existing directory for its files and logs.
    package init(in directory: String) async throws {
        let script = "\(directory)/tus.py"
        let files = "\(directory)/tus"
        try Data(Self.script.utf8).write(to: URL(fileURLWithPath: script))
        (port, process) = try await startPeer("tuspyserver", log: "\(directory)/tus") { port in
            [Self.python, script, "\(port)", files]
        }
        self.files = files
    }

    /// Where uploads are created.
    package var endpoint: String { "http://127.0.0.1:\(port)/files/" }

    /// What an upload holds.
    /// - Parameter place: its URL.
    package func contents(of place: String) -> [UInt8]? {
        place.split(separator: "/").last.flatMap { TestSupport.contents(of: "\(files)/\($0)") }
    }

    /// An upload is locked by a request. The next one for it would wait 30 s for that, in the thread that alone could see
    /// that the connection was cut, and be answered 503.
    package var isWriting: Bool {
        let locks = try? FileManager.default.contentsOfDirectory(atPath: "\(files)/.locks")
        return locks?.isEmpty == false
    }

    /// Forgets an upload.
    package func remove(_ place: String) {
        guard let name = place.split(separator: "/").last else { return }
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
