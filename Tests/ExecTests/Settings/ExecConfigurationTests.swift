import Commands
import Foundation
import Settings
import TestSupport
import Testing

@testable import Exec

/// The sections `exec` and `program` of `sluice.yaml`.
@Suite struct ExecConfigurationTests {
    private func read(_ yaml: String) throws -> ExecConfiguration {
        var reader = try SettingsReader(yaml: yaml)
        return try ExecConfiguration(reading: &reader)
    }

    private func program(_ settings: String) throws -> ExecProgram {
        let exec = try read("programs: [a]\nprogram:\n  a: {path: /bin/a, \(settings)}")
        return try exec.program(of: ExecPayload(.object([.init("program", "a")])))
    }

    @Test func `programs are off by default`() throws {
        let exec = try read("upload: {idleTimeout: 30}")
        #expect(!exec.isEnabled && exec.names.isEmpty)
    }

    @Test func `every key is read`() throws {
        var expected = ExecProgram(name: "a", path: "/bin/a")
        expected.arguments = ["-q", "85"]
        expected.allowedArguments = .matching([ArgumentPattern(text: "-x"), ArgumentPattern(text: "/in/*")])
        expected.environment = ["SIZE"]
        expected.set = [
            .init(name: "MODE", value: .text("a=b")), .init(name: "EMPTY", value: .text("")),
            .init(name: "TOKEN", value: .file("/etc/token")),
        ]
        expected.directory = "/in"
        expected.allowsInput = true
        expected.user = "media"
        expected.limits.processorSeconds = 60
        expected.limits.fileSize = 100 << 20
        expected.limits.addressSpace = 2 << 30
        expected.limits.processes = 40
        expected.limits.openFiles = 64
        expected.exitCodes = ExecExitCodes(success: [3], retry: [66, 4], permanent: [1])
        expected.leavesDaemons = true
        expected.concurrency = 2
        let read = try program(
            """
            arguments: [-q, "85"], allowArguments: [-x, "/in/*"], environment: [SIZE], set: [MODE=a=b, EMPTY=],
              setFiles: [TOKEN=/etc/token], directory: /in, stdin: true, user: media,
              limits: {cpu: 60, fileSize: 100MiB, memory: 2GiB, processes: 40, openFiles: 64},
              exitCodes: {success: [3], retry: [66, 4], permanent: [1]}, kill: leave, concurrency: 2
            """)
        #expect(read == expected)
    }

    @Test(arguments: [("true", ExecProgram.Arguments.any), ("false", .none), ("[]", .matching([]))])
    func `arguments are allowed by a word or by patterns`(_ text: String, _ allowed: ExecProgram.Arguments) throws {
        #expect(try program("allowArguments: \(text)").allowedArguments == allowed)
    }

    @Test(arguments: [
        ("allowArguments: some", "program.a.allowArguments"), ("set: [hush]", "program.a.set"),
        ("set: [\"=hush\"]", "program.a.set"), ("set: [LD_PRELOAD]", "program.a.set"),
        ("exitCodes: {retry: [hush]}", "program.a.exitCodes.retry"),
        ("exitCodes: {retry: [256]}", "program.a.exitCodes.retry"), ("kill: all", "program.a.kill"),
        ("concurrency: 0", "program.a.concurrency"), ("limits: {memory: big}", "program.a.limits.memory"),
        ("directory: in", "program.a.directory"), ("environment: [PATH]", "program.a.environment"),
        ("setFiles: [TOKEN=token]", "program.a.set.TOKEN"),
    ])
    func `an invalid setting is refused by its key`(_ settings: String, _ key: String) throws {
        let error = #expect(throws: SettingsError.self) { try program(settings) }
        #expect(error?.key == key)
        if key == "program.a.set" { #expect(error?.problem.contains("hush") == false) }
    }

    @Test func `a program without a path, or named twice, is refused`() throws {
        let missing = #expect(throws: SettingsError.self) { try read("programs: [a]") }
        #expect(missing?.key == "program.a.path")
        let twice = #expect(throws: SettingsError.self) {
            try read("programs: [a, a]\nprogram:\n  a: {path: /bin/a}")
        }
        #expect(twice?.key == "programs")
    }

    @Test func `programs that would not start are named`() throws {
        let exec = try read(
            """
            programs: [good, gone, other]
            program:
              good: {path: /usr/bin/dash}
              gone: {path: /no/such/program}
              other: {path: /usr/bin/dash, user: no-such-user}
            """)
        let problems = exec.problems(worker: geteuid())
        #expect(problems.count == 2)
        #expect(problems.first?.contains("program.gone: /no/such/program") == true)
        #expect(problems.last?.contains("no such user") == true)
    }
}
