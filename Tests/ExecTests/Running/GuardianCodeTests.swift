import Foundation
import TestSupport
import Testing

@Suite struct GuardianCodeTests {
    private static let nm = program("nm")
    private static let files = [
        "GuardianEnd", "GuardianLock", "GuardianMain", "GuardianMemory", "GuardianProgram", "Launcher",
    ]

    /// The launcher unmaps the libraries and the tables by which they are found; see GuardianSyscalls.h.
    @Test(.enabled(if: isAvailable(nm != nil)), arguments: files)
    func `the code of the launcher and the guardian calls no library function`(_ name: String) async throws {
        try await withHarness { harness in
            let object = "\(Bundle.main.bundlePath)/CLinux.build/Guardian/\(name).c.o"
            let nm = try ChildProcess([try #require(Self.nm), "-u", object], log: "\(harness.directory.path)/nm")
            #expect(await nm.end == .exited(0))
            let names = nm.output.split(separator: "\n").compactMap { $0.split(separator: " ").last }
            #expect(!names.isEmpty || name == "GuardianMemory")
            #expect(names.filter { !$0.hasPrefix("guardian_") } == [])
        }
    }
}
