import Testing
import Uploads

struct UploadErrorTests {
    @Test func `an error is described by its sentence`() {
        #expect("\(UploadError(.notFound, "There is no such upload."))" == "There is no such upload.")
    }
}
