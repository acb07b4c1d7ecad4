internal import AsyncHTTPClient
internal import Commands
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Work

/// The answer is final and complete, and the rest of the request is not wanted.
struct EarlyAnswer: Error {}

/// One request on its way: reads the source as fast as the connection takes it, and keeps what comes back.
///
/// Everything happens on the client's one event loop, also the reading: what is in the page cache is read there without
/// waiting, what is not is read by ``BlockingIO``. A chunk crosses no thread on its way from cache to socket.
final class HTTPTransfer: HTTPClientResponseDelegate, @unchecked Sendable {
    // Unchecked: after `init` every member is touched on the event loop of the client alone (asserted in `began`).
    typealias Response = Void

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
    static let bodyPatience = 1 << 20
    /// Files up to this size are read before the request begins, in one piece.
    static let smallFile = 256 << 10
    /// Memory for chunks that all transfers share.
    static let chunkBudget = 2 << 20
    static let chunkSizes = (32 << 10)...(512 << 10)
    /// Chunks after which others have their turn.
    static let chunksPerTurn = 4
    /// The loop looks at its sockets only where no task is due, so the next turn begins a little later.
    static let pause: TimeAmount = .microseconds(20)
    /// How long the rest of an early refusal is waited for.
    static let earlyAnswerPatience: TimeAmount = .seconds(2)

    /// Where the body ends in its file.
    let size: Int64
    /// Where it starts.
    private let start: Int64
    private let execution: Execution
    private let source: SourceFile?
    private let board: NIOLoopBoundBox<ConnectionBoard>
    private let loop: any EventLoop
    private var record = HTTPRecord()
    private var writer: HTTPClient.Body.StreamWriter?
    private var bodySent: EventLoopPromise<Void>?
    private var watch: ConnectionWatch?
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
    private var connection = TransferMeter.Connection()
    /// Bytes of the body that are known to be acknowledged.
    private var acknowledged: Int64 = 0
    /// Bytes of it that the peer has, those behind a hole too.
    private var delivered: Int64 = 0
    private var requestEnded: NIODeadline?

    init(
        execution: Execution, body: Body, from start: Int64 = 0, size: Int64, board: NIOLoopBoundBox<ConnectionBoard>,
        loop: any EventLoop
    ) {
        self.execution = execution
        self.size = size
        self.start = start
        offset = start
        self.board = board
        self.loop = loop
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

    /// The kept connection that it goes over has ended, before the first byte of an answer.
    func keptConnectionEnded() {
        guard !record.keptConnectionEnded else { return }
        record.keptConnectionEnded = true
        record.wasUnderWay = acknowledged > 0
    }

    /// A disk or our own pace, not the destination, is what is waited for.
    var isHeldBack: Bool {
        !record.sentAll && (isReading || paceTimer != nil || execution.pace.bytesPerSecond == 0)
    }

    /// Its command may be executed twice.
    var mayBeSentAgain: Bool { execution.command.idempotent }

    /// Others may have to overtake it.
    var makesWay: Bool { execution.command.qos.serviceClass == .low }

    /// A destination may need time to check and move a large file before it answers: a second for every 64 MiB.
    var extraPatience: TimeAmount { record.sentAll ? .milliseconds(size / (64 << 10)) : .zero }

    /// The body for the client's request; nil for an empty one.
    func makeBody() -> HTTPClient.Body? {
        guard size > start else { return nil }
        return .stream(contentLength: size - start) { writer in self.begin(writer) }
    }

    /// The last word: what came of it. On the event loop.
    func finish(_ result: Result<Void, any Error>) -> HTTPRecord {
        loop.preconditionInEventLoop()
        if !isFinished {
            isFinished = true
            if watch != nil { board.value.transfers -= 1 }
        }
        if case .failure(let error) = result { record.error = error } else { record.isComplete = true }
        execution.pace.whenChanged(nil)
        paceTimer?.cancel()
        paceTimer = nil
        // An answer to the whole of it says more than the kernel's last word.
        if record.isComplete, record.sentAll { acknowledge(offset - start) }
        bodySent?.fail(EarlyAnswer())
        bodySent = nil
        writer = nil
        watch = nil
        ready = nil
        return record
    }

    // MARK: Request

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        loop.preconditionInEventLoop()
        record.began = true
        watch = board.value.latest
        board.value.latest = nil
        watch?.attach(self)
        if watch != nil { board.value.transfers += 1 }
        if size == start { sentAll() }
        watch?.limitRate(execution.pace.bytesPerSecond)
        execution.pace.whenChanged { [weak self, loop] in
            loop.execute { [weak self] in
                guard let self else { return }
                if !isFinished { watch?.limitRate(execution.pace.bytesPerSecond) }
                pump()
            }
        }
    }

    private func sentAll() {
        record.sentAll = true
        requestEnded = .now()
    }

    /// What the kernel says of the connection, and said when the request began.
    func observed(_ now: TCPInfo, since before: TCPInfo) {
        connection.roundTrip = now.roundTrip
        connection.leastRoundTrip = now.leastRoundTrip
        connection.retransmitted = now.retransmitted - before.retransmitted
        if let requestEnded, record.head == nil { connection.firstByte = Self.wait(since: requestEnded) }
        execution.observed(connection)
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
        execution.progress(offset: start + bytes, total: size)
        deliver(bytes)
    }

    private func deliver(_ bytes: Int64) {
        guard bytes > delivered else { return }
        execution.transferred(Int(bytes - delivered))
        delivered = bytes
    }

    private func begin(_ writer: HTTPClient.Body.StreamWriter) -> EventLoopFuture<Void> {
        loop.preconditionInEventLoop()
        let promise = loop.makePromise(of: Void.self)
        bodySent = promise
        self.writer = writer
        pump()
        return promise.futureResult
    }

    /// Writes chunks for as long as the connection takes them.
    func pump() {
        guard !isPumping, !isReading, !isPumpScheduled, !isFinished, let writer, let watch else { return }
        isPumping = true
        defer { isPumping = false }
        while offset < size, bodySent != nil, watch.isWritable, (record.head?.status.code ?? 0) < 300 {
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
            guard chunk.readableBytes > 0 else { return endBody(Self.truncated(source, at: offset)) }
            offset += Int64(chunk.readableBytes)
            if offset >= size, let source {
                // Before the last byte is out, so that a receiver never has the whole of a file that changed.
                do { try source.requireUnchanged() } catch { return endBody(error) }
            }
            if execution.pace.bytesPerSecond != nil { bucket.take(chunk.readableBytes) }
            _ = writer.write(.byteBuffer(chunk))
        }
        if offset >= size {
            sentAll()
            endBody(nil)
        }
    }

    /// Bytes that the pace and the length of queues allow to be written now; 0 where nothing may be, and then the pump
    /// runs again when something may.
    private func allowance() -> Int {
        let most = watch?.shortPiece ?? Self.chunkSizes.upperBound
        guard let rate = execution.pace.bytesPerSecond else { return most }
        let now = Int64(clamping: NIODeadline.now().uptimeNanoseconds)
        let wanted = Int(min(Int64(TokenBucket.portion), size - offset))
        let available = bucket.available(rate: rate, now: now)
        if rate > 0, available >= wanted { return min(available, most) }
        execution.waitedForPace()
        paceTimer?.cancel()
        paceTimer = bucket.wait(for: wanted, rate: rate).map { wait in
            loop.scheduleTask(in: .nanoseconds(wait)) {
                self.paceTimer = nil
                self.pump()
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
            self.pump()
        }
    }

    private func endBody(_ error: (any Error)?) {
        guard let promise = bodySent else { return }
        bodySent = nil
        if let error { promise.fail(error) } else { promise.succeed(()) }
    }

    private func nextChunk(atMost most: Int) -> Int {
        let share = Self.chunkBudget / max(board.value.transfers, 1)
        let size = min(max(share, Self.chunkSizes.lowerBound), Self.chunkSizes.upperBound, most)
        return Int(min(Int64(size), self.size - offset))
    }

    private func readCached(atMost most: Int) -> ByteBuffer? {
        guard let source else { return nil }
        let count = nextChunk(atMost: most)
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
        BlockingIO.sources.run(on: loop) {
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
                self.pump()
            case .failure(let error):
                let reason = "the source \(source.path) cannot be read: \(error)"
                self.endBody(Failure(.command, reason: reason))
            }
        }
    }

    private static func truncated(_ source: SourceFile?, at offset: Int64) -> Failure {
        SourceFile.changed(source?.path ?? "the source", "while it was sent: it ends after \(offset) bytes now")
    }

    // MARK: Response

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        record.head = head
        if let requestEnded {
            connection.firstByte = Self.wait(since: requestEnded)
            execution.observed(connection)
        }
        if head.status.code >= 300, bodySent != nil {
            loop.scheduleTask(in: Self.earlyAnswerPatience) { self.responseEnded() }
        }
        return loop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        record.bodyBytes += buffer.readableBytes
        let room = Self.bodyLimit - record.body.readableBytes
        if room > 0, let kept = buffer.getSlice(at: buffer.readerIndex, length: min(room, buffer.readableBytes)) {
            record.body.writeImmutableBuffer(kept)
        }
        if record.bodyBytes > Self.bodyPatience { return loop.makeFailedFuture(EarlyAnswer()) }
        return loop.makeSucceededVoidFuture()
    }

    /// The response is complete. Where it refuses the rest of the body, the request ends here: the client would wait for
    /// ever for a body that nobody takes.
    func responseEnded() {
        guard !isFinished, let head = record.head, head.status.code >= 300 else { return }
        endBody(EarlyAnswer())
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {}
}
