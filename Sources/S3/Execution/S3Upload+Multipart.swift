internal import Commands
internal import HTTPClient
internal import NIOCore
internal import Operations
internal import Transfers

/// The requests of a multipart upload.
extension S3Upload {
    mutating func create() async throws -> S3Action {
        // Planned: the next execution knows that an upload may exist.
        try await save()
        switch try await request(requests.create(), attempt(.create), { $0.createdUpload() }) {
        case .accepted(let upload):
            try await begin(upload.id, abortDate: upload.abortDate)
            return .send(plan.missing(checkpoint.acknowledged))
        case .decided(_, let refusal): throw unexpected(refusal)
        }
    }

    mutating func begin(_ id: String, abortDate: Timestamp?) async throws {
        checkpoint = checkpoint.initiated(id, abortDate: abortDate)
        isLost = false
        try await save()
        execution.canResume()
    }

    /// Looks for the upload of a Create whose answer was lost; adopts the newest and aborts the others.
    mutating func adoptUpload() async throws -> S3Action {
        var uploads: [S3UploadPage.Upload] = []
        var marker: S3UploadPage.Marker?
        repeat {
            let outcome = try await request(
                requests.listUploads(after: marker), attempt(.listUploads), { $0.uploadPage() })
            let page: S3UploadPage
            switch outcome {
            case .accepted(let value): page = value
            case .decided(_, let refusal): throw unexpected(refusal)
            }
            uploads += page.ours(key: requests.address.key, command: execution.id.description)
            // A page that does not advance would repeat for ever.
            marker = page.next == marker ? nil : page.next
        } while marker != nil
        let newest = uploads.sorted { ($0.initiated ?? .zero, $0.id) > ($1.initiated ?? .zero, $1.id) }
        for other in newest.dropFirst() { try await client.abort(other.id, requests) }
        if let first = newest.first {
            isResumed = true
            try await begin(first.id, abortDate: nil)
        }
        return recovery.afterUploads(isFound: newest.first != nil)
    }

    mutating func send(_ numbers: [Int]) async throws -> S3Action {
        for number in numbers {
            try Task.checkCancellation()
            guard let id = checkpoint.uploadID, let range = plan.range(of: number) else { break }
            let digest = try await digest(of: range)
            var attempt = attempt(.part(number))
            attempt.wasDamaged = checkpoint.damagedPart == number
            let outcome = try await request(
                requests.part(number, of: id, digest), body: try body(range, digest), attempt, { $0.storedPart(number) }
            )
            switch outcome {
            case .accepted(let part):
                if checkpoint.damagedPart == number { checkpoint.damagedPart = nil }
                checkpoint.acknowledge(part)
                unsaved += 1
                if checkpoint.isDue(unsaved: unsaved) { try await save() }
                reportProgress()
            case .decided(.sendAgain, _):
                checkpoint.damagedPart = number
                try await save()
                return .send(plan.missing(checkpoint.acknowledged))
            case .decided(.inspectThenRestart, _):
                isLost = true
                return .inspectObject
            case .decided(_, let refusal): throw unexpected(refusal)
            }
        }
        return .complete
    }

    /// Compares our own list of parts with that of the endpoint. A part that only the endpoint has is adopted
    /// where its tag is the MD5 of the source.
    mutating func compareParts() async throws -> S3Action {
        guard let id = checkpoint.uploadID else { return .create }
        var listing = S3PartListing()
        while !listing.isWhole {
            switch try await client.send(
                requests.listParts(id, after: listing.marker), attempt(.listParts), { $0.partPage() })
            {
            case .accepted(let page):
                checkpoint.abortDate = page.abortDate ?? checkpoint.abortDate
                do throws(S3ListError) { try listing.add(page) } catch {
                    throw CommandFailure(
                        .command, reason: "the parts of \(requests.address.url) were listed \(error.message)")
                }
            case .decided(.inspectThenRestart, _):
                isLost = true
                return recovery.afterParts(exists: false, acknowledged: checkpoint.acknowledged)
            case .decided(_, let refusal) where refusal.isDenied || [405, 501].contains(refusal.status):
                // A key may have the right to write and none to list: our own list counts.
                return recovery.afterParts(exists: true, acknowledged: checkpoint.acknowledged)
            case .decided(.fail(let failure), _): throw failure
            case .decided(_, let refusal): throw unexpected(refusal)
            }
        }
        checkpoint.lose(listing.lost(of: checkpoint.sortedParts, plan))
        for part in listing.adoptable(beside: checkpoint.sortedParts, plan) {
            try await adopt(part)
        }
        reportProgress()
        return recovery.afterParts(exists: true, acknowledged: checkpoint.acknowledged)
    }

    private mutating func adopt(_ part: S3ListedPart) async throws {
        // With CRC-32C the completion needs a checksum that the list does not have.
        guard requests.payload.checksum != .crc32c, let tag = Hexadecimal.bytes(part.etag), tag.count == 16,
            let range = plan.range(of: part.number)
        else { return }
        let digest: S3PartDigest
        do {
            digest = try await S3PartReader(source: source).digest(of: range, .md5)
        } catch is CancellationError {
            throw CommandFailure.stopped("the upload to \(requests.address.url)")
        }
        guard digest.md5 == tag else { return }
        checkpoint.acknowledge(S3Part(part.number, etag: part.etag))
        unsaved += 1
    }

    struct NextAction: Error { var action: S3Action }

    mutating func complete() async throws -> Result<S3StoredObject, NextAction> {
        guard let id = checkpoint.uploadID else { return .failure(NextAction(action: .create)) }
        let missing = plan.missing(checkpoint.acknowledged)
        guard missing.isEmpty else { return .failure(NextAction(action: .send(missing))) }
        checkpoint = checkpoint.completing()
        try await save()
        let list = S3Requests.completion(checkpoint.sortedParts)
        // Progress stays at the end of the file while the endpoint works on the completion.
        let end = max(plan.size, Int64(list.count))
        let body = S3Body(
            content: .whole(ByteBuffer(bytes: list)), range: end - Int64(list.count)..<end,
            hash: AWSPayloadHash(of: list))
        switch try await request(requests.complete(id), body: body, attempt(.complete), { $0.completion() }) {
        case .accepted(let object): return .success(object)
        case .decided(.inspectThenRestart, _):
            isLost = true
            return .failure(NextAction(action: .inspectObject))
        case .decided(.restart, _):
            try await client.abort(id, requests)
            return .failure(NextAction(action: .restart))
        case .decided(.inspectThenFail(let failure), _):
            guard try await inspect() == .ours else { throw failure }
            return .success(stored)
        case .decided(_, let refusal): throw unexpected(refusal)
        }
    }

    mutating func restart() async throws -> S3Action {
        guard let next = checkpoint.restarted() else {
            throw CommandFailure(
                .command,
                reason: "the endpoint \(client.endpoint) has lost the multipart upload to "
                    + "\(requests.address.url) \(checkpoint.restarts) times")
        }
        checkpoint = next
        return .create
    }
}
