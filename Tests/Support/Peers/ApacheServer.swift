internal import Foundation

/// A real Apache httpd with mod_dav on a free port of 127.0.0.1, from Debian's `apache2-bin`. It writes only
/// into a directory of the test. Enable a test that uses it by ``isInstalled``.
package final class ApacheServer: Sendable {
    package static var isInstalled: Bool { program("apache2") != nil && access(modules, R_OK) == 0 }

    private static let modules = "/usr/lib/apache2/modules"

    package let port: Int
    /// A PUT to `/x` makes the file `x` in this directory.
    package let root: String
    private let process: ChildProcess

    /// Starts the server and waits until it accepts connections.
    /// - Parameter directory: an existing directory for its configuration, logs and files.
    package init(in directory: String) async throws {
        guard let apache = program("apache2") else { throw Missed("apache2 is not installed") }
        let base = "\(directory)/apache"
        let root = "\(base)/files"
        self.root = root
        // Apache refuses to serve as root. It then runs as user 65534, which needs access to the directories.
        for path in [base, root, "\(base)/locks"] { mkdir(path, 0o700) }
        if geteuid() == 0 {
            for path in [directory, base] { chmod(path, 0o711) }
            for path in [root, "\(base)/locks"] { chmod(path, 0o777) }
        }
        (port, process) = try await startPeer("apache2", log: "\(base)/process") { port in
            let file = "\(base)/httpd.conf"
            try Data(Self.configuration(base, port).utf8).write(to: URL(fileURLWithPath: file))
            return [apache, "-f", file, "-DFOREGROUND"]
        }
    }

    /// `http://127.0.0.1:<port>`
    package var origin: String { "http://127.0.0.1:\(port)" }

    package func stop() async { await process.finish() }

    private static func configuration(_ base: String, _ port: Int) -> String {
        """
        ServerRoot "\(base)"
        ServerName 127.0.0.1
        Listen 127.0.0.1:\(port)
        \(geteuid() == 0 ? "User #65534\nGroup #65534" : "")
        PidFile "\(base)/pid"
        ErrorLog "\(base)/error.log"
        DefaultRuntimeDir "\(base)"
        Mutex "file:\(base)" default
        LoadModule mpm_event_module \(modules)/mod_mpm_event.so
        LoadModule authz_core_module \(modules)/mod_authz_core.so
        LoadModule dav_module \(modules)/mod_dav.so
        LoadModule dav_fs_module \(modules)/mod_dav_fs.so
        DAVLockDB "\(base)/locks/dav"
        DocumentRoot "\(base)/files"
        <Directory "\(base)/files">
            Dav On
            Require all granted
        </Directory>

        """
    }
}
