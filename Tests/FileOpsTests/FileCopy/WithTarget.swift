import TestSupport

/// Runs a test with a harness and an empty target directory, and removes both afterwards.
func withTarget(_ body: (UploadHarness, _ target: String) async throws -> Void) async throws {
    let harness = try UploadHarness()
    defer { harness.directory.remove() }
    try await body(harness, try harness.directory.makeDirectory("target"))
}
