import Commands
import Foundation
import Operations
import TestSupport
import Testing

/// Changes of a source between its submit and the end of its upload.
@Suite struct UploadSourceTests {
    private func write(_ bytes: [UInt8], to file: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: file))
    }

    /// Changes of a file between submit and execution.
    enum Change: CaseIterable { case longer, sameSize, replaced, touched, removed, directory }

    @Test(arguments: Change.allCases)
    func `a source that changed since it was submitted is refused`(_ change: Change) async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(1000))
            var before = stat()
            #expect(stat(file, &before) == 0)
            let (execution, _) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            switch change {
            // Only the size.
            case .longer:
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
                try handle.seekToEnd()
                try handle.write(contentsOf: Data([1]))
                try handle.close()
                giveTime(of: before, to: file)
            case .sameSize:
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
                try handle.write(contentsOf: Data(sample(1000).reversed()))
                try handle.close()
                setTime(file, seconds: 1)
            // Only the inode.
            case .replaced:
                let other = try harness.directory.file("b", sample(1000))
                giveTime(of: before, to: other)
                #expect(rename(other, file) == 0)
            case .touched: setTime(file, seconds: 2)
            case .removed: unlink(file)
            case .directory:
                unlink(file)
                mkdir(file, 0o700)
            }
            let failure = try await harness.failure(of: execution)
            #expect(failure.fault == .final)
            #expect(!failure.ambiguous)
            #expect(failure.reason.contains("source changed"), "\(failure.reason)")
            #expect(failure.reason.contains(file))
            #expect(receiver.requests.isEmpty)
        }
    }

    /// The kernel asks the process with the lease to give it up, which takes a while.
    @Test func `a source that another process has leased is tried again and not reported as changed`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", sample(1000))
            let (execution, _) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            let (again, _) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            // The kernel sends this signal to the holder of the lease.
            signal(SIGIO, SIG_IGN)
            let holder = open(file, O_RDWR | O_CLOEXEC)
            let setLease: Int32 = 1024
            #expect(fcntl(holder, setLease, Int32(F_WRLCK)) == 0, "no lease: \(String(cString: strerror(errno)))")
            let failure = try await harness.failure(of: execution)
            #expect(failure.fault == .command && failure.reason.contains("\(file) cannot be opened now"), "\(failure)")
            #expect(receiver.requests.isEmpty)
            close(holder)
            _ = try await harness.run(again)
        }
    }

    private func giveTime(of status: stat, to file: String) {
        #expect(utimensat(AT_FDCWD, file, [status.st_atim, status.st_mtim], 0) == 0)
    }

    private func setTime(_ file: String, seconds: Int) {
        let time = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, file, time, 0) == 0)
    }

    @Test(arguments: [true, false])
    func `a body is never completed if the source changes meanwhile`(_ truncates: Bool) async throws {
        var options = MisbehavingReceiver.Options()
        options.receiveBuffer = 64 << 10
        try await withReceiver(options) { receiver, harness in
            receiver.on("/a", .slow(bytesPerSecond: 20_000_000))
            let size = 30_000_000
            let file = try harness.hollowFile(size)
            let (execution, _) = try harness.execution(file: file, to: "\(receiver.origin)/a")
            async let outcome = harness.failure(of: execution)
            try await until("a megabyte") { (receiver.requests.first?.bytes ?? 0) > 1_000_000 }
            if truncates {
                #expect(truncate(file, off_t(size / 2)) == 0)
            } else {
                setTime(file, seconds: 3)
            }
            let failure = try await outcome
            #expect(failure.fault == .final)
            #expect(failure.ambiguous)
            #expect(failure.reason.contains("source changed"), "\(failure.reason)")
            try await until("the end of the connection") { receiver.requests.first?.ended != nil }
            #expect(receiver.requests.count == 1)
            #expect(receiver.requests.first?.isWhole == false)
        }
    }

    @Test func `the source is deleted after success only`() async throws {
        try await withReceiver { receiver, harness in
            receiver.on("/a", .answer(500), .answer(201))
            let file = try harness.directory.file("a", sample(1000))
            let remove = [JSONValue.Member("removeSource", true)]
            _ = try await harness.failure(file: file, to: "\(receiver.origin)/a", extra: remove)
            #expect(access(file, F_OK) == 0)
            let result = try await harness.upload(file: file, to: "\(receiver.origin)/a", extra: remove)
            #expect(result["sourceRemoved"]?.bool == true)
            #expect(access(file, F_OK) != 0)
        }
    }

    @Test func `the source is kept by default`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", [1])
            let result = try await harness.upload(file: file, to: "\(receiver.origin)/a")
            #expect(result["sourceRemoved"] == nil)
            #expect(access(file, F_OK) == 0)
        }
    }

    @Test func `a file that has replaced the source is kept`() async throws {
        var options = MisbehavingReceiver.Options()
        options.receiveBuffer = 64 << 10
        try await withReceiver(options) { receiver, harness in
            receiver.on("/a", .slow(bytesPerSecond: 20_000_000))
            let file = try harness.hollowFile(10_000_000)
            let (execution, _) = try harness.execution(
                file: file, to: "\(receiver.origin)/a", extra: [.init("removeSource", true)])
            async let outcome = harness.run(execution)
            try await until("a megabyte") { (receiver.requests.first?.bytes ?? 0) > 1_000_000 }
            _ = try harness.directory.file("b", [7])
            #expect(rename("\(harness.directory.path)/b", file) == 0)
            // The open file has not changed, so it is sent. The new file at its path is kept.
            let result = try await outcome
            #expect(result["status"]?.integer == 201)
            #expect(result["sourceRemoved"]?.bool == false)
            #expect(result["sourceProblem"]?.string?.contains(file) == true)
            #expect(contents(of: file) == [7])
        }
    }

    @Test func `a command without a source succeeds if the destination confirms an earlier delivery`() async throws {
        try await withReceiver { receiver, harness in
            func copy(changed seconds: TimeInterval?) -> Behaviour {
                let time = seconds.map { ["Last-Modified": httpDate(in: $0)] } ?? [:]
                return .answer(200, headers: ["Content-Length": "5"].merging(time) { $1 })
            }
            receiver.on("/a", copy(changed: 60))
            receiver.on("/b", .answer(404))
            receiver.on("/older", copy(changed: -60))
            receiver.on("/silent", copy(changed: nil))
            let file = try harness.directory.file("a", [1, 2, 3, 4, 5])
            let remove = [JSONValue.Member("removeSource", true)]
            func again(_ path: String, claim: Int) throws -> CommandExecution {
                if access(file, F_OK) != 0 { _ = try harness.directory.file("a", [1, 2, 3, 4, 5]) }
                let url = "\(receiver.origin)\(path)"
                let execution = try harness.execution(file: file, to: url, extra: remove, claim: claim).execution
                unlink(file)
                return execution
            }
            let result = try await harness.run(try again("/a", claim: 2))
            #expect(result["status"]?.integer == 200)
            #expect(receiver.requests.map(\.method) == ["HEAD"])
            #expect(try await harness.failure(of: try again("/b", claim: 2)).fault == .final)
            // A file of this size may be older than the command.
            for path in ["/older", "/silent"] {
                #expect(try await harness.failure(of: try again(path, claim: 2)).fault == .final)
            }
            // There is no execution before the first one.
            #expect(try await harness.failure(of: try again("/a", claim: 1)).fault == .final)
            #expect(receiver.requests.count == 4)
            // While the destination is unavailable, the command is tried again.
            receiver.on("/later", .answer(503))
            #expect(try await harness.failure(of: try again("/later", claim: 2)).fault == .link)
            // A server without HEAD cannot confirm a delivery.
            for status in [405, 501] {
                receiver.on("/\(status)", .answer(status))
                #expect(try await harness.failure(of: try again("/\(status)", claim: 2)).fault == .final)
            }
            _ = try harness.directory.file("a", [1, 2, 3, 4, 5])
            let gone = try harness.execution(
                file: file, to: "http://127.0.0.1:\(try freePort())/a", extra: remove, claim: 2)
            unlink(file)
            #expect(try await harness.failure(of: gone.execution).fault == .link)
        }
    }

    @Test(arguments: [10_413_792_000, -10_413_792_000, 0])
    func `a file may have a modification time of any year`(_ seconds: Int) async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", [1])
            let time = timespec(tv_sec: seconds, tv_nsec: 1)
            #expect(utimensat(AT_FDCWD, file, [time, time], 0) == 0)
            let result = try await harness.upload(file: file, to: "\(receiver.origin)/a")
            #expect(result["status"]?.integer == 201)
        }
    }

    /// A time from now, in the form of RFC 9110, section 5.6.7.
    private func httpDate(in seconds: TimeInterval) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date(timeIntervalSinceNow: seconds))
    }

    @Test func `an invalid payload fails at its execution`() async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        for payload in ["", "{", "[]", #"{"file":"/x"}"#, #"{"file":"/x","to":"gopher://h/"}"#] {
            var attributes = PayloadAttributes(destination: .none, idempotent: true)
            attributes.payload = .string("")
            let execution = UploadHarness.execution(attributes).execution
            let broken = CommandExecution(
                command: execution.command, payload: Array(payload.utf8), meter: TransferMeter())
            #expect(try await harness.failure(of: broken).fault == .final)
        }
    }
}
