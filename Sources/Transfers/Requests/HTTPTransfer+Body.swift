internal import Commands
internal import HTTPClient
internal import Host
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Operations

/// Writes the body of the request, within its pace.
extension HTTPTransfer {
    /// The bytes of memory for chunks that all transfers share.
    private static let chunkBudget = 2 << 20
    package static let chunkSizes = (32 << 10)...(512 << 10)
    /// Chunks after which the other tasks of the loop get their turn.
    private static let chunksPerTurn = 4
    /// The loop checks its sockets only while no task is due, so the next turn begins a little later.
    private static let turnPause: TimeAmount = .microseconds(20)

    /// Writes chunks while the connection takes them.
    package func writeBody() {
        guard !isWriting, !isReading, !isWriteScheduled, !isFinished, !record.sentAll, let connection else { return }
        isWriting = true
        defer { isWriting = false }
        while offset < size, connection.isWritable, (record.head?.status.code ?? 0) < 300 {
            guard chunksInTurn < Self.chunksPerTurn else { return continueInNextTurn() }
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
                // Checked before the last byte leaves, so that a receiver never gets the whole of a file that changed.
                do { try source.requireUnchanged() } catch { return stop(error) }
            }
            if execution.pace.bytesPerSecond != nil { bucket.take(chunk.readableBytes) }
            connection.write(chunk)
        }
        if offset >= size {
            sentAll()
            connection.endBody()
        }
    }

    /// The bytes that pace and queue permit now. With 0, ``writeBody()`` is called again when more is
    /// permitted.
    private func allowance() -> Int {
        let maxBytes = connection?.shortPiece ?? Self.chunkSizes.upperBound
        guard let rate = execution.pace.bytesPerSecond else { return maxBytes }
        let wanted = Int(min(Int64(ByteBucket.portion), size - offset))
        let available = bucket.available(rate: rate, now: .now)
        if rate > 0, available >= wanted { return min(available, maxBytes) }
        execution.waitedForPace()
        paceTimer?.cancel()
        paceTimer = bucket.wait(for: wanted, rate: rate).map { wait in
            loop.scheduleTask(in: .nanoseconds(wait.nanoseconds)) {
                self.paceTimer = nil
                self.writeBody()
            }
        }
        return 0
    }

    /// A peer that takes bytes as fast as they are written would keep the loop busy, because each flush makes
    /// the channel writable again before it returns. Other events, even a cancellation, would wait (up to 2.3
    /// s on loopback).
    private func continueInNextTurn() {
        isWriteScheduled = true
        loop.scheduleTask(in: Self.turnPause) {
            self.isWriteScheduled = false
            self.chunksInTurn = 0
            self.writeBody()
        }
    }

    /// Ends the request because of its source, not because of the destination.
    private func stop(_ error: CommandFailure) {
        record.error = error
        connection?.stop()
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
        var wouldBlock = false
        spare.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { buffer in
            guard let read = source.readCached(into: .init(rebasing: buffer.prefix(count)), at: offset) else {
                wouldBlock = true
                return 0
            }
            return read
        }
        return wouldBlock ? nil : spare
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
}
