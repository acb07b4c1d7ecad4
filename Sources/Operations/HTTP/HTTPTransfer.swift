internal import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Work

/// One request on its way: reads the source as fast as the connection takes it, and keeps what comes back.
///
/// Everything happens on the client's one event loop, also the reading: what is in the page cache is read there without
/// waiting, what is not is read by ``BlockingIO``. A chunk crosses no thread on its way from cache to socket.
final class HTTPTransfer: HTTPExchange, @unchecked Sendable {
    // Unchecked: after `init` every member is touched on the event loop of the client alone.

    enum Body: Sendable {
        case none
        /// All of a small file.
        case whole(ByteBuffer)
        /// The start of a large one, and where the rest is.
        case file(SourceFile, start: ByteBuffer)
        /// A file of which nothing was read yet.
        case unread(SourceFile)
    }

    /// Bytes of a response's body that are kept.
    static let bodyLimit = 64 << 10
    /// Bytes of a response's body after which the rest is not waited for.
    static let maxResponseBody = 1 << 20
    /// Files up to this size are read before the request begins, in one piece.
    static let smallFile = 256 << 10
    /// Memory for chunks that all transfers share.
    static let chunkBudget = 2 << 20
    static let chunkSizes = (32 << 10)...(512 << 10)
    /// Chunks after which others have their turn.
    static let chunksPerTurn = 4
    /// The loop looks at its sockets only where no task is due, so the next turn begins a little later.
    static let pause: TimeAmount = .microseconds(20)

    /// Where the body ends in its file.
    let size: Int64
    /// Where it starts.
    private let start: Int64
    private let execution: CommandExecution
    private let source: SourceFile?
    private let active: NIOLoopBoundBox<Int>
    private let loop: any EventLoop
    private let completion: @Sendable (HTTPRecord) -> Void
    private var record = HTTPRecord()
    private var http: HTTPConnection?
    private var offset: Int64
    private var ready: ByteBuffer?
    private var spare = ByteBuffer()
    private var isPumping = false
    private var isPumpScheduled = false
    private var chunksInTurn = 0
    private var isReading = false
    private var isFinished = false
    private var bucket = TokenBucket()
    private var paceTimer: Scheduled<Void>?
    private var measures = TransferMeter.Connection()
    /// Bytes of the body that are known to be acknowledged.
    private var acknowledged: Int64 = 0
    /// Bytes of it that the peer has, those behind a hole too.
    private var delivered: Int64 = 0
    private var requestEnded: NIODeadline?

    /// - Parameters:
    ///   - range: of the source's bytes that are the body.
    ///   - active: transfers under way; they share the memory for chunks.
    ///   - completion: called once, on the loop, with what came of it.
    init(
        execution: CommandExecution, body: Body, range: Range<Int64>, active: NIOLoopBoundBox<Int>, loop: any EventLoop,
        completion: @escaping @Sendable (HTTPRecord) -> Void
    ) {
        self.execution = execution
        start = range.lowerBound
        size = range.upperBound
        offset = range.lowerBound
        self.active = active
        self.loop = loop
        self.completion = completion
        switch body {
        case .none: source = nil
        case .whole(let bytes):
            source = nil
            ready = bytes
        case .file(let file, let start):
            source = file
            ready = start
        case .unread(let file): source = file
        }
    }

    /// A disk or our own pace, not the destination, is what is waited for.
    var isHeldBack: Bool {
        !record.sentAll && (isReading || paceTimer != nil || execution.pace.bytesPerSecond == 0)
    }

    /// Its command may be executed twice.
    var isRepeatable: Bool { execution.command.idempotent }

    /// Others may have to overtake it.
    var isLowPriority: Bool { execution.command.qos.serviceClass == .low }

    /// The last word: what came of it.
    func ended(_ end: HTTPExchangeEnd) {
        loop.preconditionInEventLoop()
        isFinished = true
        if http != nil { active.value -= 1 }
        record.keptConnectionEnded = end.keptConnectionEnded
        record.wasUnderWay = acknowledged > 0
        switch end.error {
        case nil: record.isComplete = true
        case .stopped? where record.hasEnough: break
        case let error?: record.error = record.error ?? error
        }
        if case .headTooLarge(let status?)? = end.error, record.head == nil {
            record.head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status))
        }
        execution.pace.whenChanged(nil)
        paceTimer?.cancel()
        paceTimer = nil
        // An answer to the whole of it says more than the kernel's last word.
        if record.head != nil, record.sentAll { acknowledge(offset - start) }
        (http, ready) = (nil, nil)
        completion(record)
    }

    // MARK: Request

    func began(on connection: HTTPConnection) {
        record.began = true
        record.usedKeptConnection = connection.isKept
        http = connection
        active.value += 1
        if size == start { sentAll() }
        connection.limitRate(execution.pace.bytesPerSecond)
        execution.pace.whenChanged { [weak self, loop] in
            loop.execute { [weak self] in
                guard let self else { return }
                http?.limitRate(execution.pace.bytesPerSecond)
                writeBody()
            }
        }
    }

    private func sentAll() {
        record.sentAll = true
        requestEnded = .now()
    }

    func measured(_ now: TCPInfo, since before: TCPInfo) {
        measures.roundTrip = now.roundTrip
        measures.minRoundTrip = now.minRoundTrip
        measures.retransmitted = now.retransmitted - before.retransmitted
        measures.isWindowClosed = now.isWindowClosed(since: before)
        if let requestEnded, record.head == nil { measures.firstByte = Self.wait(since: requestEnded) }
        execution.observed(measures)
        // A slow pace goes on over several looks.
        if paceTimer != nil { execution.waitedForPace() }
        acknowledge(min(now.acknowledged - before.acknowledged, offset - start))
        deliver(min(now.delivered - before.delivered, offset - start))
    }

    /// In microseconds.
    private static func wait(since instant: NIODeadline) -> Int64 { max((.now() - instant).nanoseconds / 1000, 1) }

    private func acknowledge(_ bytes: Int64) {
        guard bytes > acknowledged else { return }
        acknowledged = bytes
        execution.progress(offset: start + bytes, total: max(execution.command.total, size))
        deliver(bytes)
    }

    private func deliver(_ bytes: Int64) {
        guard bytes > delivered else { return }
        execution.transferred(Int(bytes - delivered))
        delivered = bytes
    }

    /// Writes chunks for as long as the connection takes them.
    func writeBody() {
        guard !isPumping, !isReading, !isPumpScheduled, !isFinished, !record.sentAll, let http else { return }
        isPumping = true
        defer { isPumping = false }
        while offset < size, http.isWritable, (record.head?.status.code ?? 0) < 300 {
            guard chunksInTurn < Self.chunksPerTurn else { return pumpInNextTurn() }
            let allowed = allowance()
            guard allowed > 0 else { return }
            chunksInTurn += 1
            let chunk: ByteBuffer
            if var bytes = ready {
                chunk = bytes.readSlice(length: min(allowed, bytes.readableBytes)) ?? bytes
                ready = bytes.readableBytes > 0 ? bytes : nil
            } else if let bytes = readCached(atMost: allowed) {
                chunk = bytes
            } else {
                return readInBackground()
            }
            guard chunk.readableBytes > 0 else { return stop(Self.truncated(source, at: offset)) }
            offset += Int64(chunk.readableBytes)
            if offset >= size, let source {
                // Before the last byte is out, so that a receiver never has the whole of a file that changed.
                do { try source.requireUnchanged() } catch { return stop(error) }
            }
            if execution.pace.bytesPerSecond != nil { bucket.take(chunk.readableBytes) }
            http.write(chunk)
        }
        if offset >= size {
            sentAll()
            http.endBody()
        }
    }

    /// Bytes that the pace and the length of queues allow to be written now; 0 where nothing may be, and then the pump
    /// runs again when something may.
    private func allowance() -> Int {
        let maxBytes = http?.shortPiece ?? Self.chunkSizes.upperBound
        guard let rate = execution.pace.bytesPerSecond else { return maxBytes }
        let now = Int64(clamping: NIODeadline.now().uptimeNanoseconds)
        let wanted = Int(min(Int64(TokenBucket.portion), size - offset))
        let available = bucket.available(rate: rate, now: now)
        if rate > 0, available >= wanted { return min(available, maxBytes) }
        execution.waitedForPace()
        paceTimer?.cancel()
        paceTimer = bucket.wait(for: wanted, rate: rate).map { wait in
            loop.scheduleTask(in: .nanoseconds(wait)) {
                self.paceTimer = nil
                self.writeBody()
            }
        }
        return 0
    }

    /// A peer that takes bytes as fast as they are written would have the loop for itself: each flush makes the channel
    /// writable again before it returns. Nobody would be heard meanwhile, not even a cancel (up to 2.3 s on loopback).
    private func pumpInNextTurn() {
        isPumpScheduled = true
        loop.scheduleTask(in: Self.pause) {
            self.isPumpScheduled = false
            self.chunksInTurn = 0
            self.writeBody()
        }
    }

    /// The source, not the destination, is why it cannot go on.
    private func stop(_ error: CommandFailure) {
        record.error = error
        http?.stop()
    }

    private func nextChunk(atMost maxBytes: Int) -> Int {
        let share = Self.chunkBudget / max(active.value, 1)
        let size = min(max(share, Self.chunkSizes.lowerBound), Self.chunkSizes.upperBound, maxBytes)
        return Int(min(Int64(size), self.size - offset))
    }

    private func readCached(atMost maxBytes: Int) -> ByteBuffer? {
        guard let source else { return nil }
        let count = nextChunk(atMost: maxBytes)
        spare.clear(minimumCapacity: count)
        var waits = false
        spare.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { buffer in
            guard let read = source.readCached(into: .init(rebasing: buffer.prefix(count)), at: offset) else {
                waits = true
                return 0
            }
            return read
        }
        return waits ? nil : spare
    }

    private func readInBackground() {
        guard let source else { return }
        isReading = true
        let (offset, count) = (offset, nextChunk(atMost: Self.chunkSizes.lowerBound))
        BlockingIO.sources.run(at: source.path, on: loop) {
            var bytes = ByteBuffer()
            try bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) {
                try source.read(into: .init(rebasing: $0.prefix(count)), at: offset)
            }
            return bytes
        }.whenComplete { result in
            self.isReading = false
            guard !self.isFinished else { return }
            switch result {
            case .success(let bytes):
                self.ready = bytes
                self.writeBody()
            case .failure(let error):
                let reason = "the source \(source.path) cannot be read: \(error)"
                self.stop(error as? CommandFailure ?? CommandFailure(.command, reason: reason))
            }
        }
    }

    private static func truncated(_ source: SourceFile?, at offset: Int64) -> CommandFailure {
        SourceFile.changed(source?.path ?? "the source", "while it was sent: it ends after \(offset) bytes now")
    }

    // MARK: Response

    func received(head: HTTPResponseHead) {
        record.head = head
        guard let requestEnded else { return }
        measures.firstByte = Self.wait(since: requestEnded)
        execution.observed(measures)
    }

    func received(body bytes: ByteBuffer) -> ReadDecision {
        record.bodyBytes += bytes.readableBytes
        let room = Self.bodyLimit - record.body.readableBytes
        if room > 0, let kept = bytes.getSlice(at: bytes.readerIndex, length: min(room, bytes.readableBytes)) {
            record.body.writeImmutableBuffer(kept)
        }
        record.hasEnough = record.bodyBytes > Self.maxResponseBody
        return record.hasEnough ? .enough : .more
    }
}
