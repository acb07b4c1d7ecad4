internal import Glibc

/// The versions of the libraries that this program uses.
package struct Libraries {
    package var sqlite: String
    package var zeromq: String
    package var swift: String

    package static var current: Libraries {
        Libraries(sqlite: sqliteVersion ?? "unknown", zeromq: zeromqVersion ?? "unknown", swift: swiftVersion)
    }

    /// Read at run time: the distribution may replace a shared library under the program.
    private static var sqliteVersion: String? {
        typealias Version = @convention(c) () -> UnsafePointer<CChar>?
        guard let symbol = dlsym(nil, "sqlite3_libversion") else { return nil }
        return unsafeBitCast(symbol, to: Version.self)().map { String(cString: $0) }
    }

    private static var zeromqVersion: String? {
        typealias Version =
            @convention(c) (
                UnsafeMutablePointer<CInt>, UnsafeMutablePointer<CInt>, UnsafeMutablePointer<CInt>
            ) -> Void
        guard let symbol = dlsym(nil, "zmq_version") else { return nil }
        var (major, minor, patch): (CInt, CInt, CInt) = (0, 0, 0)
        unsafeBitCast(symbol, to: Version.self)(&major, &minor, &patch)
        return "\(major).\(minor).\(patch)"
    }

    private static var swiftVersion: String {
        #if swift(>=6.4)
            "6.4 or later"
        #elseif swift(>=6.3)
            "6.3"
        #else
            "6.2"
        #endif
    }
}
