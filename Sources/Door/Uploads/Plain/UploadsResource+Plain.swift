internal import Commands
internal import HTTPTypes
internal import Store
internal import Uploads

extension UploadsResource {
    /// Takes a body as one file, or a form.
    func createPlain(_ request: DoorRequest) async throws -> UploadReply {
        try await reporting(UploadProblems.problem) {
            try ContentCoding.check(request.fields)
            if MediaType.read(request.fields) == MediaType.form { return try await createForm(request) }
            guard request.fields[.contentRange] == nil else {
                throw Problem(
                    .badRequest, "partial-content",
                    "Content-Range sends a part of a file, and the door takes whole ones here; resume by tus.")
            }
            let size = try BodySize.read(request.fields)
            var facts = try facts(
                .plain, request, fileName: fileName(request.fields), contentType: request.fields[.contentType],
                route: try route(request, stated: nil))
            // The body is the whole representation: both digests are of the same bytes.
            let digests = [
                try DigestFields.read(.reprDigest, request.fields),
                try DigestFields.read(.contentDigest, request.fields),
            ].compactMap(\.self)
            guard digests.count < 2 || digests[0] == digests[1] else {
                throw Problem(
                    .badRequest, "invalid-digest",
                    "Repr-Digest and Content-Digest are both there, and are not the same digest; send one of them.")
            }
            facts.digest = digests.first
            let upload = try await takeWhole(facts, size: size, key: try key(request)) {
                try await Self.send(request.body, to: $0)
            }
            return await completed(upload, request)
        }
    }
}
