import Commands
import TestSupport
import Testing

@testable import Exec

@Suite struct ExecEnvironmentTests {
    @Test func `an environment begins with the variables of the worker, and a later value replaces an earlier one`() {
        let id = CommandID(high: 1, low: 2)
        var environment = ExecEnvironment(home: "/root", temporary: "/tmp/x", command: id, claim: 3, attempt: 2)
        environment.set("SIZE", "640=x")
        environment.set("PATH", "/opt/bin")
        #expect(
            environment.lines == [
                "PATH=/opt/bin", "LANG=C.UTF-8", "HOME=/root", "TMPDIR=/tmp/x", "SLUICE_COMMAND=\(id)",
                "SLUICE_CLAIM=3",
                "SLUICE_ATTEMPT=2", "SLUICE_REPORT_FD=3", "SIZE=640=x",
            ])
    }

    @Test(arguments: [
        "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GLIBC_TUNABLES", "BASH_ENV", "ENV", "IFS", "PATH", "PYTHONPATH",
        "PYTHONSTARTUP", "PERL5LIB", "PERL5OPT", "NODE_OPTIONS", "GIT_SSH_COMMAND", "GIT_DIR", "SLUICE_CLAIM", "", "1A",
        "A-B", "A=B", "A B", "é", "A\0", "BASH_FUNC_ls%%", String(repeating: "A", count: 129),
    ])
    func `a name is refused to payloads`(_ name: String) {
        #expect(ExecEnvironment.objection(toPayloadName: name) != nil)
    }

    @Test(arguments: [
        "SIZE", "a", "_", "A1", "LDAP_URL", "GIT", "PYTHO", "MY_PATH", String(repeating: "A", count: 128),
    ])
    func `a name is allowed to payloads`(_ name: String) {
        #expect(ExecEnvironment.objection(toPayloadName: name) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func `values are read from their files, without the line feed at the end`() throws {
        let directory = try TemporaryDirectory("exec-values")
        defer { directory.remove() }
        var program = ExecProgram(name: "a", path: "/usr/bin/true")
        program.set = [
            .init(name: "A", value: .text("x\n")),
            .init(name: "B", value: .file(try directory.file("b", Array("secret\r\n".utf8)))),
        ]
        let values = try program.settings()
        #expect(values.map(\.name) == ["A", "B"])
        #expect(values.map(\.value) == ["x\n", "secret\r"])
        program.set = [.init(name: "A", value: .file("\(directory.path)/none"))]
        #expect(throws: CommandFailure.self) { try program.settings() }
        program.set = [.init(name: "A", value: .file(try directory.file("c", [0x61, 0, 0x62])))]
        #expect(throws: CommandFailure.self) { try program.settings() }
    }
}
