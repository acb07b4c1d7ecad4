import Commands
import Foundation
import TestSupport
import Testing

extension EndToEndTests {
    /// The command lines that these tests run in their own process end as a process of `sluice` does.
    @Suite(.enabled(if: !Installation.testsOtherExecutable, "SLUICE_BIN tests another executable"))
    struct InProcessTests {
        @Test(arguments: [
            ["list", "--json"], ["limit", "list"], ["token", "list"], ["explain", "ffff"], ["status", "ffff"],
            ["config", "check"], ["schedule", "list"], ["put", "missing", "--to", "http://h/"],
            ["put", "here", "--to", "x"],
            ["frobnicate"], ["status", "--jsn"], ["list", "--destination", "x"], ["submit", "noop", "--payload", "{"],
            ["submit", "noop", "-"], ["submit", "noop", "--payload", "@here"], ["flow", "submit", "-"], [],
            ["--version"],
            ["put", "--help"], ["help", "flow"], ["submit", "--generate-completion-script", "bash"],
        ])
        func `a command line has the exit code, the output and the errors of a process`(arguments: [String])
            async throws
        {
            try await Installation.with { installation in
                #expect(try await installation.sluice("submit", "noop").code == 0)
                _ = try installation.directory.file("here", Array("[]".utf8))
                let input = Array(#"{"payload":[]}"#.utf8)
                let here = try #require(
                    try await installation.runInProcess(arguments, input: input, within: .seconds(30)))
                let process = try await installation.finished(
                    installation.start(program: "\(Installation.bin)/sluice", arguments, input: input))
                #expect(here.ending == process.ending)
                #expect(here.output == process.output)
                #expect(here.errors == process.errors)
            }
        }

        @Test func `a command line leaves no descriptor, thread, working directory or umask behind`() async throws {
            let (before, others) = (settings(), threads())
            try await Installation.with { installation in
                let file = try installation.directory.file("file", [1, 2, 3])
                for arguments in [
                    ["submit", "noop", "-"], ["put", "file", "--to", "http://127.0.0.1:9/", "--spool"],
                    ["pause"],
                    ["cancel", "ffff"], ["status"], ["list"], ["network"], ["frobnicate"],
                ] {
                    let input = Array(#"{"payload":{}}"#.utf8)
                    _ = try #require(try await installation.runInProcess(arguments, input: input, within: .seconds(30)))
                }
                #expect(settings() == before)
                try await until("the end of its descriptors and threads") {
                    descriptors(below: installation.directory.path).isEmpty && threads().isSubset(of: others)
                }
                #expect(contents(of: file) == [1, 2, 3])
            }
        }

        @Test func `a command line that waits, serves or checks files has a process of its own`() async throws {
            try await Installation.with { installation in
                for arguments in [
                    ["up"], ["door"], ["watch"], ["doctor"], ["submit", "noop", "--wait"], ["fetch", "x"],
                ] {
                    let finished = try await installation.runInProcess(arguments, input: nil, within: .seconds(30))
                    #expect(finished == nil, "\(arguments)")
                }
            }
        }

        /// The open files below a directory.
        private func descriptors(below directory: String) -> [String] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            return names.compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
            }
            .filter { $0.hasPrefix(directory) }
        }

        /// The threads of clients and of their messages.
        private func threads() -> Set<String> {
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            return Set(
                tasks.filter { task in
                    let name = String(decoding: contents(of: "/proc/self/task/\(task)/comm") ?? [], as: UTF8.self)
                    return name.hasPrefix("sluice-") || name.hasPrefix("ZMQbg")
                })
        }

        /// The working directory and the umask of this process.
        private func settings() -> [String] {
            let status = String(decoding: contents(of: "/proc/self/status") ?? [], as: UTF8.self)
            let umask = status.split(separator: "\n").filter { $0.hasPrefix("Umask:") }.map(String.init)
            return [FileManager.default.currentDirectoryPath] + umask
        }
    }
}
