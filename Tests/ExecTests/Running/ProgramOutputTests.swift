import Commands
import Foundation
import Host
import TestSupport
import Testing

@testable import Exec
@testable import Transfers

/// Input, outputs and reports of running programs.
@Suite struct ProgramOutputTests {
    @Test(arguments: [[0xFF, 0x00, 0xC3], Array("no line feed".utf8), [], Array("a\r\n\0".utf8), [0xE2, 0x82]])
    func `output arrives byte for byte, beside the reports`(_ bytes: [UInt8]) async throws {
        try await withHarness { harness in
            let path = try harness.directory.file("bytes", bytes)
            let run = try await harness.run(
                #"cat "$1"; cat "$1" >&2; echo '{"values":{"a":1}}' >&3; cat "$1""#, [path])
            #expect(run.output.bytes == bytes + bytes)
            #expect(run.error.bytes == bytes)
            #expect(run.reports.last?.values == [.init("a", 1)])
            #expect(run.end.reports == ReportCounts())
        }
    }

    @Test(.enabled(if: runsSlowTests)) func `a gigabyte of output needs no memory`() async throws {
        try await withHarness { harness in
            var tail = OutputTail(limit: 65_536)
            let process = GuardedProcess(
                try harness.script("head -c 1073741824 /dev/zero; printf end"))
            let before = kilobytes("VmRSS", of: getpid(), in: "status") ?? 0
            var peak = 0
            var chunks = 0
            let began = ContinuousClock.now
            while let event = await process.next() {
                guard case .output(.output, let bytes) = event else { continue }
                tail.append(bytes)
                chunks += 1
                if chunks % 512 == 0 { peak = max(peak, kilobytes("VmRSS", of: getpid(), in: "status") ?? 0) }
            }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            print("a gigabyte in \(chunks) chunks, \(Int(1024 / seconds)) MiB/s, resident +\(peak - before) kB")
            #expect(tail.count == 1_073_741_827)
            #expect(tail.bytes == [UInt8](repeating: 0, count: 65_533) + Array("end".utf8))
            #expect(peak - before < 8192)
        }
    }

    @Test func `a slow consumer slows the program, and loses nothing`() async throws {
        try await withHarness { harness in
            let process = GuardedProcess(try harness.program("/usr/bin/head", ["-c", "4000000", "/dev/zero"]))
            var count = 0
            var longest = 0
            while let event = await process.next() {
                guard case .output(_, let bytes) = event else { continue }
                count += bytes.count
                longest = max(longest, bytes.count)
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(count == 4_000_000)
            #expect(longest <= 65_536)
        }
    }

    @Test func `output that waits when the program has ended is read, however slow the consumer is`() async throws {
        try await withHarness { harness in
            let process = GuardedProcess(try harness.program("/usr/bin/head", ["-c", "320000", "/dev/zero"]))
            try await Task.sleep(for: .milliseconds(2500))
            var count = 0
            while let event = await process.next() { if case .output(_, let bytes) = event { count += bytes.count } }
            #expect(count == 320_000)
        }
    }

    @Test(.enabled(if: runsSlowTests)) func `an output that a left daemon keeps open is read for 2 s`() async throws {
        try await withHarness { harness in
            let text = "echo early; setsid sh -c 'sleep 1; echo late; sleep 1000' & echo $!; sleep 0.1"
            var program = try harness.script(text)
            program.leavesDaemons = true
            let began = ContinuousClock.now
            let run = try await harness.run(program)
            #expect((.seconds(2)...(.seconds(4))).contains(ContinuousClock.now - began))
            #expect(run.text.hasSuffix("late\n"))
            #expect(!run.end.outputIsWhole)
            #expect(run.end.survivors == 1)
            for pid in children(of: 1) + children(of: getpid())
            where getsid(pid) == Int32(run.text.split(separator: "\n")[1]) {
                kill(pid, SIGKILL)
            }
            if let pid = Int32(run.text.split(separator: "\n")[1]) { kill(-pid, SIGKILL) }
        }
    }

    @Test func `outputs go to files by request`() async throws {
        try await withHarness { harness in
            var program = try harness.script("echo out; echo err >&2")
            let path = "\(harness.directory.path)/out"
            program.output = .file(OpenFile(owning: try openFile(path, O_WRONLY | O_CREAT)))
            let run = try await harness.run(program)
            #expect(run.output.count == 0)
            #expect(run.errorText == "err\n")
            #expect(contents(of: path) == Array("out\n".utf8))
        }
    }

    // MARK: Input

    @Test func `a program reads its input from bytes, from a file, or from nothing`() async throws {
        try await withHarness { harness in
            var random = SeededRandom.announced("input")
            let bytes = random.bytes(1_000_000)
            var program = try harness.program("/usr/bin/sha256sum")
            let path = try harness.directory.file("input", bytes)
            program.input = .bytes(bytes)
            let sum = try await harness.run(program).text
            program.input = .file(try OpenFile(path, O_RDONLY))
            #expect(try await harness.run(program).text == sum)
            program.input = .none
            #expect(try await harness.run(program).text.hasPrefix("e3b0c442"))
            program.input = .bytes([])
            #expect(try await harness.run(program).text.hasPrefix("e3b0c442"))
        }
    }

    @Test(arguments: 0..<20)
    func `a program that closes its input at once ends by its own code`(_ round: Int) async throws {
        try await withHarness { harness in
            var program =
                round % 2 == 0
                ? try harness.script("exec <&-; exit 5") : try harness.program("/usr/bin/head", ["-n", "1"])
            program.input = .bytes([UInt8](repeating: 0x0A, count: 1 << 20))
            let run = try await harness.run(program)
            #expect(run.end.outcome == .exited(round % 2 == 0 ? 5 : 0))
            #expect(run.output.count == (round % 2 == 0 ? 0 : 1))
        }
    }

    @Test func `a descendant that keeps the input unread does not delay the end`() async throws {
        try await withHarness { harness in
            var program = try harness.script("exit 0")
            program.input = .bytes([UInt8](repeating: 0, count: 1 << 20))
            let began = ContinuousClock.now
            #expect(try await harness.run(program).end.outcome == .exited(0))
            #expect(ContinuousClock.now - began < .seconds(1.5))
        }
    }

    // MARK: Reports

    @Test func `a flood of reports is read, cut and passed on four times a second`() async throws {
        try await withHarness { harness in
            var program = try harness.program(
                perl,
                ["-e", #"open(R, '>&=3'); my $n = 0; while (1) { print R "{\"progress\":{\"offset\":$n}}\n"; $n++ }"#])
            program.timeout = .seconds(2)
            let before = kilobytes("VmRSS", of: getpid(), in: "status") ?? 0
            let began = ContinuousClock.now
            let run = try await harness.run(program)
            #expect(run.end.stop == .timedOut)
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            #expect(run.reports.count >= 5 && Double(run.reports.count) <= 4 * seconds + 3)
            // How much the program writes in the time is a matter of the machine.
            #expect(run.end.reports.skippedBytes > 0)
            let offsets = run.reports.compactMap { $0.progress?.offset }
            #expect(offsets == offsets.sorted() && Set(offsets).count == offsets.count)
            #expect((kilobytes("VmRSS", of: getpid(), in: "status") ?? 0) - before < 8192)
        }
    }

    @Test func `garbage on the report channel is counted, and one endless line is skipped`() async throws {
        try await withHarness { harness in
            let text =
                #"printf 'x\n[1]\n{"values":3}\n{}\n' >&3; head -c 5000000 /dev/zero >&3; echo >&3; "#
                + #"sleep 0.3; printf '{"retryAfter":1.5,"other":1}' >&3"#
            let run = try await harness.run(text)
            #expect(run.end.outcome == .exited(0))
            #expect(run.end.reports.garbageLines == 4)
            #expect(run.end.reports.skippedBytes == 5_000_000)
            #expect(run.reports == [ProgramReport(retryAfter: .milliseconds(1500))])
        }
    }
}
