internal import Foundation

/// Whether only the tests run that need neither a peer nor an emulated link and that end soon (`SLUICE_QUICK`, set by
/// `deploy/test --quick`).
package let isQuickRun = ProcessInfo.processInfo.environment["SLUICE_QUICK"] != nil

/// The condition of a test or suite that takes longer than about three seconds; false in a quick run.
package let runsSlowTests = !isQuickRun

/// Whether a missing peer is a failure (`SLUICE_REQUIRE_PEERS`, set by `deploy/test`). Otherwise the tests that need it are
/// skipped and say so.
package let requiresPeers = ProcessInfo.processInfo.environment["SLUICE_REQUIRE_PEERS"] != nil

/// The condition of a test that needs a foreign program, or a permission that not every machine gives.
/// - Returns: false in a quick run; true where ``requiresPeers``, so that the test fails instead of being skipped.
package func isAvailable(_ peer: @autoclosure () -> Bool) -> Bool {
    !isQuickRun && (peer() || requiresPeers)
}

/// The path of an installed program; nil where there is none.
package func program(_ name: String) -> String? {
    // Debian's directories come first: their Python has Debian's modules.
    for directory in ["/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin"] {
        let path = "\(directory)/\(name)"
        if access(path, X_OK) == 0 { return path }
    }
    return nil
}
