import Settings
import Testing

@testable import Exec

@Suite struct ExecProgramTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var key: String?
        var says = ""
        var change: @Sendable (inout ExecProgram) -> Void

        init(
            _ name: String, _ key: String?, _ says: String = "",
            _ change: @escaping @Sendable (inout ExecProgram) -> Void
        ) {
            testDescription = name
            self.key = key
            self.says = says
            self.change = change
        }
    }

    @Test(arguments: [
        Case("defaults", nil) { _ in },
        Case("everything", nil) {
            $0.arguments = ["-a", ""]
            $0.allowedArguments = .matching([ArgumentPattern(text: "-i"), ArgumentPattern(text: "/in/*")])
            $0.environment = ["SIZE"]
            $0.set = [.init(name: "PATH", value: .text("/opt/bin")), .init(name: "KEY", value: .file("/etc/key"))]
            $0.directory = "/in"
            $0.limits = ExecLimits(processorSeconds: 1, fileSize: 1, addressSpace: 1, processes: 1, openFiles: 16)
            $0.exitCodes = ExecExitCodes(success: [0, 3], retry: [64], permanent: [255])
            $0.concurrency = 1
            $0.user = "media"
        },
        Case("an empty name", "program", "a-z") { $0.name = "" },
        Case("a name with a dot", "program", "“a.b”") { $0.name = "a.b" },
        Case("a long name", "program") { $0.name = String(repeating: "a", count: 65) },
        Case("a relative path", "program.a.path", "absolute") { $0.path = "bin/true" },
        Case("the root", "program.a.path") { $0.path = "/" },
        Case("a detour", "program.a.path") { $0.path = "/usr/../bin/true" },
        Case("two slashes", "program.a.path") { $0.path = "/usr//bin/true" },
        Case("a slash at the end", "program.a.path") { $0.path = "/usr/bin/" },
        Case("a zero byte", "program.a.path") { $0.path = "/usr/\0" },
        Case("a long path", "program.a.path") { $0.path = "/" + String(repeating: "a", count: 4096) },
        Case("a relative directory", "program.a.directory", "absolute") { $0.directory = "in" },
        Case("a zero byte in an argument", "program.a.arguments", "zero byte") { $0.arguments = ["a\0"] },
        Case("a long argument", "program.a.arguments", "131072 bytes") {
            $0.arguments = [String(repeating: "x", count: 131_072)]
        },
        Case("an empty pattern", "program.a.allowArguments") {
            $0.allowedArguments = .matching([ArgumentPattern(text: "")])
        },
        Case("many patterns", "program.a.allowArguments", "65") {
            $0.allowedArguments = .matching(Array(repeating: ArgumentPattern(text: "a"), count: 65))
        },
        Case("a dangerous name for payloads", "program.a.environment", "LD_PRELOAD") {
            $0.environment = ["LD_PRELOAD"]
        },
        Case("a name with =", "program.a.environment") { $0.environment = ["A=B"] },
        Case("a name of the worker", "program.a.set", "SLUICE_CLAIM") {
            $0.set = [.init(name: "SLUICE_CLAIM", value: .text("1"))]
        },
        Case("a name twice", "program.a.set", "twice") {
            $0.set = [.init(name: "A", value: .text("1")), .init(name: "A", value: .text("2"))]
        },
        Case("a name of settings and payloads", "program.a.set", "remove one") {
            $0.environment = ["A"]
            $0.set = [.init(name: "A", value: .text("1"))]
        },
        Case("a value with a zero byte", "program.a.set") { $0.set = [.init(name: "A", value: .text("\0"))] },
        Case("a relative file of a value", "program.a.set.A") { $0.set = [.init(name: "A", value: .file("key"))] },
        Case("a code of two lists", "program.a.exitCodes.permanent", "retry") {
            $0.exitCodes = ExecExitCodes(retry: [3], permanent: [3])
        },
        Case("a code of 256", "program.a.exitCodes.success", "256") { $0.exitCodes = ExecExitCodes(success: [256]) },
        Case("0 as a failure", "program.a.exitCodes.retry") { $0.exitCodes = ExecExitCodes(retry: [0]) },
        Case("no concurrency", "program.a.concurrency") { $0.concurrency = 0 },
        Case("no processor time", "program.a.limits.cpu") { $0.limits.processorSeconds = 0 },
        Case("few descriptors", "program.a.limits.openFiles") { $0.limits.openFiles = 3 },
        Case("an empty user", "program.a.user") { $0.user = "" },
    ])
    func `the settings are checked`(_ test: Case) {
        var program = ExecProgram(name: "a", path: "/usr/bin/true")
        test.change(&program)
        var error: SettingsError?
        do throws(SettingsError) { try program.check() } catch let refused { error = refused }
        #expect(error?.key == test.key)
        if let error { #expect(error.description.contains(test.says)) }
    }

    @Test func `limits lower the soft and the hard limit`() {
        let limits = ExecLimits(processorSeconds: 3, fileSize: 10, addressSpace: 20, processes: 30).resourceLimits
        #expect(
            Set(limits.map { "\($0.resource) \($0.soft) \($0.hard.map(String.init) ?? "-")" }) == [
                "coreFile 0 -", "openFiles 1024 -", "processorTime 3 8", "fileSize 10 10", "addressSpace 20 20",
                "processes 30 30",
            ])
    }

    @Test func `every exit code has the meaning of sysexits or of its list`() {
        let final: Set<Int32> = [64, 65, 66, 67, 68, 70, 72, 73, 76, 77, 78, 126, 127]
        let codes = ExecExitCodes()
        for code in 0...255 as ClosedRange<Int32> {
            #expect(codes.meaning(of: code) == (code == 0 ? .success : final.contains(code) ? .permanent : .retry))
        }
        let own = ExecExitCodes(success: [65], retry: [64], permanent: [75, 1])
        #expect(own.meaning(of: 65) == .success && own.meaning(of: 64) == .retry)
        #expect(own.meaning(of: 75) == .permanent && own.meaning(of: 1) == .permanent && own.meaning(of: 0) == .success)
    }
}
