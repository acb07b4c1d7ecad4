internal import Commands
package import HTTPClient
internal import Host
package import NIOCore
package import NIOHTTP1
internal import Operations

/// One request of an execution: reads the source as fast as the connection takes it, and stores the response.
///
/// Everything runs on the client's one event loop, including the reads: bytes in the page cache are read
/// there without waiting, all others by ``BlockingIO``. A chunk crosses no thread on its way from the cache
/// to the socket.
///
/// `@unchecked Sendable`: after `init` all members are used on the event loop of the client only.
package final class HTTPTransfer: HTTPExchange, @unchecked Sendable {
    package enum Body: Sendable {
        case none
        /// All bytes of a small file.
        case whole(ByteBuffer)
        /// The start of a large file, and the file with the rest.
        case file(SourceFile, start: ByteBuffer)
        /// A file of which nothing was read yet.
        case unread(SourceFile)
    }

    /// The maximum bytes of a response body that are stored.
    package static let bodyLimit = 64 << 10
    /// Bytes of a response body after which the rest is not read.
    package static let maxResponseBody = 1 << 20
    /// Files up to this size are read before the request begins, in one piece.
    package static let smallFile = 256 << 10

    /// The offset in the file at which the body ends.
    let size: Int64
    /// The offset in the file at which the body starts.
    private let start: Int64
    let execution: CommandExecution
    let source: SourceFile?
    /// The number of transfers on a connection.
    let active: NIOLoopBoundBox<Int>
    let loop: any EventLoop
    private let reading: ResponseReading?
    private let completion: @Sendable (HTTPRecord) -> Void
    var record = HTTPRecord()
    var connection: HTTPConnection?

    // The state of HTTPTransfer+Body.
    /// The offset in the file of the next byte to write.
    var offset: Int64
    var ready: ByteBuffer?
    var spare = ByteBuffer()
    var isWriting = false
    var isWriteScheduled = false
    var chunksInTurn = 0
    var isReading = false
    var isFinished = false
    var bucket = ByteBucket()
    /// The reader is behind, or the pace permits no more bytes.
    private var isReadingPaused = false
    private var isReaderBehind = false
    private var isBeingRead = false
    private var isReaderDone = false
    var paceTimer: Scheduled<Void>?

    private var measures = TransferMeter.Connection()
    /// Bytes of the body that the peer has acknowledged.
    private var acknowledged: Int64 = 0
    /// Bytes of the body that the peer has received, including those after a gap.
    private var delivered: Int64 = 0
    private var requestEnded: NIODeadline?
    /// The maximum bytes of the response body that are stored. Set before the request begins.
    var answerLimit = HTTPTransfer.bodyLimit
    /// Whether the purpose of the request is its answer, so that the status of a success alone is not one. Set before the
    /// request begins.
    var isQuery = false
    /// The request in messages, where the content coding of its answer is taken off. Set before the request begins.
    var decodedRequest: String?
    /// Of the answer, where no reader has its body.
    private var decoder: ContentDecoder?

    /// - Parameters:
    ///   - range: the bytes of the file that are the body.
    ///   - reading: of the body of a successful response; nil: it is stored in the record.
    ///   - active: the number of transfers on a connection. They share the memory for chunks.
    ///   - completion: is called once, on the loop.
    init(
        execution: CommandExecution, body: Body, range: Range<Int64>, reading: ResponseReading?,
        active: NIOLoopBoundBox<Int>, loop: any EventLoop, completion: @escaping @Sendable (HTTPRecord) -> Void
    ) {
        self.execution = execution
        start = range.lowerBound
        size = range.upperBound
        offset = range.lowerBound
        self.active = active
        self.loop = loop
        self.reading = reading
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

    package var isHeldBack: Bool {
        isReadingPaused || !record.sentAll && (isReading || paceTimer != nil || execution.pace.bytesPerSecond == 0)
    }

    package var isRepeatable: Bool { execution.command.idempotent }

    package var isLowPriority: Bool { execution.command.qos.serviceClass == .low }

    // MARK: Request

    package func began(on connection: HTTPConnection) {
        record.mayHaveSent = true
        record.usedKeptConnection = connection.isKept
        self.connection = connection
        active.value += 1
        if size == start { sentAll() }
        connection.limitRate(execution.pace.bytesPerSecond)
        execution.pace.whenChanged { [weak self, loop] in
            loop.execute { [weak self] in
                guard let self else { return }
                self.connection?.limitRate(execution.pace.bytesPerSecond)
                writeBody()
                resumeReading()
            }
        }
    }

    func sentAll() {
        record.sentAll = true
        requestEnded = .now()
    }

    package func measured(_ now: TCPInfo, since before: TCPInfo) {
        measures.roundTrip = now.roundTrip
        measures.minRoundTrip = now.minRoundTrip
        measures.retransmitted = now.retransmitted - before.retransmitted
        measures.isWindowClosed = now.isWindowClosed(since: before)
        if let requestEnded, record.head == nil { measures.firstByte = Self.wait(since: requestEnded) }
        execution.observed(measures)
        // The wait for a slow pace may last for several measurements.
        if paceTimer != nil { execution.waitedForPace() }
        acknowledge(min(now.acknowledged - before.acknowledged, offset - start))
        deliver(min(now.delivered - before.delivered, offset - start))
    }

    private static func wait(since instant: NIODeadline) -> Duration {
        .nanoseconds((.now() - instant).nanoseconds)
    }

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

    // MARK: Response

    package func received(head: HTTPResponseHead) {
        record.head = head
        let isRead = reading != nil && (200..<300).contains(head.status.code)
        if let decodedRequest {
            do throws(CommandFailure) {
                let decoder = try ContentDecoder(head, to: decodedRequest)
                record.decoded = decoder?.coding
                if isRead { reading?.body.decoder = decoder } else { self.decoder = decoder }
            } catch {
                record.codingFailure = error
                reading?.body.codingFailure = error
            }
        }
        if let reading, isRead { start(reading, head) }
        guard let requestEnded else { return }
        measures.firstByte = Self.wait(since: requestEnded)
        execution.observed(measures)
    }

    private func start(_ reading: ResponseReading, _ head: HTTPResponseHead) {
        isBeingRead = true
        reading.body.whenTaken = { [weak self] in
            self?.isReaderBehind = false
            self?.resumeReading()
        }
        reading.start(head) { [weak self] in
            guard let self, !isFinished else { return }
            isReaderDone = true
            connection?.stop()
        }
    }

    /// Hands bytes to the reader, and pauses where it is behind or the pace permits no more.
    private func read(_ bytes: ByteBuffer, _ reading: ResponseReading) -> ReadDecision {
        execution.received(bytes.readableBytes)
        if execution.pace.bytesPerSecond != nil { bucket.take(bytes.readableBytes) }
        isReaderBehind = reading.body.add(bytes)
        isReadingPaused = isReaderBehind || !mayRead()
        return isReadingPaused ? .pause : .more
    }

    private func resumeReading() {
        guard isReadingPaused, !isReaderBehind, mayRead() else { return }
        isReadingPaused = false
        connection?.resumeReading()
    }

    /// Whether the pace permits more bytes. If not, ``resumeReading()`` is called when it does.
    private func mayRead() -> Bool {
        guard let rate = execution.pace.bytesPerSecond else { return true }
        if rate > 0, bucket.available(rate: rate, now: .now) > 0 { return true }
        execution.waitedForPace()
        paceTimer?.cancel()
        paceTimer = bucket.wait(for: 1, rate: rate).map { wait in
            loop.scheduleTask(in: .nanoseconds(wait.nanoseconds)) {
                self.paceTimer = nil
                self.resumeReading()
            }
        }
        return false
    }

    package func received(body bytes: ByteBuffer) -> ReadDecision {
        record.receivedBytes += bytes.readableBytes
        if isBeingRead, let reading {
            record.bodyBytes += bytes.readableBytes
            return read(bytes, reading)
        }
        if let decoder {
            decode(bytes, decoder)
        } else {
            keep(bytes)
        }
        return record.hasEnough ? .enough : .more
    }

    private func keep(_ bytes: ByteBuffer) {
        record.bodyBytes += bytes.readableBytes
        let room = answerLimit - record.body.readableBytes
        if room > 0, let kept = bytes.getSlice(at: bytes.readerIndex, length: min(room, bytes.readableBytes)) {
            record.body.writeImmutableBuffer(kept)
        }
        record.hasEnough = record.bodyBytes > Self.maxResponseBody
    }

    /// Decodes no more than is kept, because this is the loop of all transfers.
    private func decode(_ bytes: ByteBuffer, _ decoder: ContentDecoder) {
        decoder.feed(bytes)
        do throws(CommandFailure) {
            while !record.hasEnough, let piece = try decoder.next() { keep(piece) }
        } catch {
            (record.codingFailure, record.hasEnough) = (error, true)
        }
    }

    /// A whole message may have only a part of its stream.
    private func finishDecoding() {
        guard let decoder, record.isComplete, !record.hasEnough else { return }
        do throws(CommandFailure) { try decoder.finish() } catch { record.codingFailure = error }
    }

    package func ended(_ end: HTTPExchangeEnd) {
        loop.preconditionInEventLoop()
        isFinished = true
        if connection != nil { active.value -= 1 }
        record.keptConnectionEnded = end.keptConnectionEnded
        record.wasUnderWay = acknowledged > HTTPRecord.firstBytes
        record.sentBytes = offset - start
        switch end.error {
        case nil: record.isComplete = true
        case .stopped? where record.hasEnough || isReaderDone: break
        case let error?: record.error = record.error ?? error
        }
        finishDecoding()
        if record.head == nil, let status = end.error?.status, !isQuery || status >= 300 {
            record.head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status))
        }
        execution.pace.whenChanged(nil)
        paceTimer?.cancel()
        paceTimer = nil
        // A response to the whole request is more recent than the kernel's last counters.
        if record.head != nil, record.sentAll { acknowledge(offset - start) }
        (connection, ready) = (nil, nil)
        reading?.body.finish(record.isComplete ? nil : end.error ?? .closed)
        completion(record)
    }
}
