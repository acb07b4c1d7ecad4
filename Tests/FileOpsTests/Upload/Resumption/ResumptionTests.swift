import Commands
import HTTPClient
import NIOHTTP1
import Testing

@testable import FileOps

/// The decisions of resumable uploads, without requests.
@Suite struct ResumptionTests {
    private static let refused = CommandFailure(.final, reason: "refused")

    private func resumption(
        size: Int64 = 1000, isIdempotent: Bool = true, chunk: Int64? = nil, locks: Int = 1
    ) -> Resumption {
        var limits = Resumption.Limits()
        limits.lockRetryDelays = Array(repeating: .seconds(1), count: locks)
        return Resumption(of: "the upload", size: size, isIdempotent: isIdempotent, chunk: chunk, limits: limits)
    }

    private func holds(_ offset: Int64) -> ResumptionAnswer { .holds(offset, HTTPRecord()) }

    @Test func `an upload is created, appended and finished`() {
        var upload = resumption()
        #expect(upload.start(.create).words == "create")
        #expect(upload.next(after: holds(0)).words == "append 0..<1000")
        #expect(upload.next(after: holds(1000)).words == "finish")
    }

    @Test func `an empty upload is finished once it is created`() {
        var upload = resumption(size: 0)
        _ = upload.start(.create)
        #expect(upload.next(after: holds(0)).words == "finish")
    }

    @Test func `chunks end at the end of the file`() {
        var upload = resumption(chunk: 400)
        #expect(upload.start(.created(holds(0))).words == "append 0..<400")
        #expect(upload.next(after: holds(400)).words == "append 400..<800")
        #expect(upload.next(after: holds(800)).words == "append 800..<1000")
    }

    @Test func `an impossible offset leads to a new upload`() {
        for offset in [Int64.min, -1, 1001, .max] {
            var upload = resumption()
            _ = upload.start(.locate(held: .max))
            #expect(upload.next(after: holds(offset)).words == "create")
        }
    }

    @Test func `chunks near the largest number do not overflow`() {
        var upload = resumption(size: .max, chunk: .max)
        _ = upload.start(.locate(held: 0))
        #expect(upload.next(after: holds(.max - 1)).words == "append \(Int64.max - 1)..<\(Int64.max)")
    }

    @Test func `a partially accepted request leads to a query`() {
        var upload = resumption()
        _ = upload.start(.created(holds(0)))
        #expect(upload.next(after: holds(300)).words == "locate")
        #expect(upload.next(after: holds(300)).words == "append 300..<1000")
    }

    @Test func `queries without progress are limited, and progress resets the limit`() {
        var upload = resumption()
        _ = upload.start(.created(holds(0)))
        for offset in Int64(1)...3 {
            for _ in 1...5 {
                #expect(upload.next(after: .refusesOffset(nil)).words == "locate")
                _ = upload.next(after: holds(offset))
            }
        }
        var steps = 0
        while steps < 100 {
            if case .fail(let error) = upload.next(after: .refusesOffset(nil)) {
                #expect((error as? CommandFailure)?.fault == .command)
                break
            }
            _ = upload.next(after: holds(3))
            steps += 1
        }
        #expect(steps < 10)
    }

    @Test func `a large loss is queried twice, and a small loss once`() {
        for (held, asks) in [(Int64(900), true), (501, true), (500, false), (0, false)] {
            var upload = resumption()
            _ = upload.start(.locate(held: held))
            #expect(upload.next(after: .vanished).words == (asks ? "pause" : "create"))
            guard asks else { continue }
            #expect(upload.pauseEnded().words == "locate")
            #expect(upload.next(after: .vanished).words == "create")
        }
    }

    @Test(arguments: [(Int64(900), true), (500, false)])
    func `bytes that were sent count as lost, whatever the destination has confirmed`(
        _ sent: Int64, _ isAskedTwice: Bool
    ) {
        var upload = resumption()
        _ = upload.start(.created(holds(0)))
        #expect(upload.next(after: .lostConnection(Self.refused, sent: sent)).words == "locate")
        #expect(upload.next(after: .vanished).words == (isAskedTwice ? "pause" : "create"))
        guard isAskedTwice else { return }
        _ = upload.pauseEnded()
        #expect(upload.next(after: holds(900)).words == "append 900..<1000")
    }

    @Test func `an upload that vanishes after its last byte is not created again by the same execution`() {
        var upload = resumption()
        _ = upload.start(.created(holds(0)))
        let reset = CommandFailure(.reset, reason: "reset", ambiguous: true)
        #expect(upload.next(after: .failedAtEnd(reset)).words == "locate")
        #expect(upload.next(after: .vanished).words == "pause")
        _ = upload.pauseEnded()
        guard case .fail(let error) = upload.next(after: .vanished), let failure = error as? CommandFailure else {
            Issue.record("the file is sent again")
            return
        }
        // The destination has answered, so the failure is charged wherever its link stands.
        #expect(failure.fault == .command && failure.ambiguous && failure.isAnswer)
        #expect(failure.reason.hasPrefix("reset; the upload no longer exists"), "\(failure.reason)")
    }

    @Test func `an upload whose end was lost with its connection continues, a bounded number of times`() {
        var upload = resumption(isIdempotent: false)
        _ = upload.start(.created(holds(0)))
        let reset = CommandFailure(.reset, reason: "reset", ambiguous: true)
        for _ in 1...2 {
            _ = upload.next(after: .failedAtEnd(reset))
            #expect(upload.next(after: holds(400)).words == "append 400..<1000")
        }
        _ = upload.next(after: .failedAtEnd(reset))
        #expect(upload.next(after: holds(400)).words == "fail")
    }

    @Test func `a loss of 64 MiB of a larger file is queried twice`() {
        var upload = resumption(size: 1 << 40)
        _ = upload.start(.locate(held: (64 << 20) + 1))
        #expect(upload.next(after: .vanished).words == "pause")
    }

    @Test func `uploads that vanish are created at most twice`() {
        var upload = resumption()
        _ = upload.start(.create)
        for _ in 1...1 {
            _ = upload.next(after: holds(0))
            #expect(upload.next(after: .vanished).words == "create")
        }
        _ = upload.next(after: holds(0))
        #expect(upload.next(after: .vanished).words == "fail")
    }

    @Test func `a locked upload is queried again, and its delays start over after progress`() {
        var upload = resumption(locks: 2)
        _ = upload.start(.created(holds(0)))
        for offset in [Int64(0), 10] {
            for _ in 1...2 {
                #expect(upload.next(after: .locked(Self.refused)).words == "pause")
                _ = upload.pauseEnded()
                _ = upload.next(after: holds(offset))
            }
            if offset == 0 {
                _ = upload.next(after: .refusesOffset(nil))
                _ = upload.next(after: holds(10))
            }
        }
        #expect(upload.next(after: .locked(Self.refused)).words == "fail")
    }

    @Test func `a request that is too large is halved down to 64 KiB`() {
        var upload = resumption(size: 1 << 40)
        var step = upload.start(.created(holds(0)))
        var sizes: [Int64] = []
        while case .append(let range) = step {
            sizes.append(range.upperBound - range.lowerBound)
            guard case .locate = upload.next(after: .tooLarge(Self.refused)) else { break }
            step = upload.next(after: holds(0))
        }
        #expect(sizes.prefix(3) == [1 << 40, 64 << 20, 32 << 20])
        #expect(sizes.last == 64 << 10 && sizes.count == 12)
    }

    @Test(arguments: [true, false])
    func `a lost connection leads to a query if the upload is idempotent`(_ isIdempotent: Bool) {
        var upload = resumption(isIdempotent: isIdempotent)
        _ = upload.start(.created(holds(0)))
        #expect(upload.next(after: .lostConnection(Self.refused, sent: 0)).words == (isIdempotent ? "locate" : "fail"))
    }

    @Test func `too many lost connections in a row end the execution`() {
        var upload = resumption()
        _ = upload.start(.created(holds(0)))
        for offset in Int64(1)...2 {
            #expect(upload.next(after: .lostConnection(Self.refused, sent: 0)).words == "locate")
            _ = upload.next(after: holds(offset))
        }
        #expect(upload.next(after: .lostConnection(Self.refused, sent: 0)).words == "fail")
    }

    @Test func `the refusal of an offset that is reported again ends the upload`() {
        var upload = resumption()
        _ = upload.start(.locate(held: 0))
        _ = upload.next(after: holds(10))
        _ = upload.next(after: .refusesOffset(Self.refused))
        guard case .fail(let error) = upload.next(after: holds(10)) else {
            Issue.record("the refusal was forgotten")
            return
        }
        #expect(error as? CommandFailure == Self.refused)
    }

    @Test(arguments: [ResumptionAnswer.vanished, .foreign, .locked(refused), .failed(refused)])
    func `every failure after an error at the last byte is ambiguous`(_ answer: ResumptionAnswer) {
        var upload = resumption(locks: 0)
        _ = upload.start(.created(holds(0)))
        #expect(upload.next(after: .failedAtEnd(CommandFailure(.command, reason: "500"))).words == "locate")
        var step = upload.next(after: answer)
        if case .pause = step {
            _ = upload.pauseEnded()
            step = upload.next(after: answer)
        }
        guard case .fail(let error) = step else {
            Issue.record("the upload goes on")
            return
        }
        #expect((error as? CommandFailure)?.ambiguous == true)
    }
}

extension ResumptionStep {
    fileprivate var words: String {
        switch self {
        case .create: "create"
        case .locate: "locate"
        case .append(let range): "append \(range)"
        case .confirm: "confirm"
        case .pause: "pause"
        case .finish: "finish"
        case .sendWhole: "whole"
        case .fail: "fail"
        }
    }
}
