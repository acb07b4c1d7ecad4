internal import Commands
internal import Door
internal import HTTPTypes
internal import Queue
internal import Uploads

extension API {
    var uploadEndpoints: [Endpoint] {
        [
            endpoint("/uploads", (.get, [.read], listUploads)),
            endpoint(
                "/uploads/{id}", (.get, [.read, .upload], showUpload),
                (.delete, [.upload, .control], removeUpload)),
        ]
    }

    /// The newest first.
    @Sendable private func listUploads(_ request: DoorRequest) async throws -> Response {
        let query = try QueryReader(request, ["state", "limit", "cursor"])
        let state = try query.value("state", "open, complete or ended") { UploadState(name: $0) }
        let limit = try query.limit()
        let cursor = try query.value("cursor", "the cursor of a page before") { text in
            PageCursor(text).flatMap { $0.order == .newestFirst ? $0 : nil }
        }
        let (page, hasMore) = try await read { queue in
            try queue.uploads(state, after: cursor?.after, limit: limit)
        }
        let next = hasMore ? page.last.map { PageCursor(.newestFirst, after: $0.id).text } : nil
        return JSONReply.response(
            ["uploads": .array(page.map(\.json)), "next": next.map { .string($0) } ?? .null],
            fields: JSONReply.next(next, of: request))
    }

    @Sendable private func showUpload(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        return JSONReply.response(try await upload(request, with: .read).json)
    }

    @Sendable private func removeUpload(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let upload = try await upload(request, with: .control)
        guard upload.state != .ended else { return Response(status: .noContent) }
        do throws(UploadError) {
            try await door.uploads.terminate(upload.id, reason: "terminated by \(request.actor)")
        } catch {
            throw error.code == .complete
                ? Problem(
                    .conflict, "upload-is-command", error.message,
                    members: upload.command.map { [.init("command", .string($0.description))] } ?? [])
                : Problem(error)
        }
        log("Ended the upload \(upload.id)", request)
        return Response(status: .noContent)
    }

    /// The upload of the path: that of the token's name, or any with `scope`.
    /// - Throws: 404, also for the upload of another token.
    private func upload(_ request: DoorRequest, with scope: Scope) async throws -> Upload {
        let unknown = Problem(.notFound, "upload-not-found", "There is no such upload; it may have expired.")
        guard let id = CommandID(request.parameters["id"] ?? ""),
            let upload = try await read({ queue in try queue.upload(id) }),
            let principal = request.principal,
            principal.scopes.contains(scope)
                || principal.owns(upload) && principal.scopes.contains(.upload)
        else { throw unknown }
        return upload
    }
}
