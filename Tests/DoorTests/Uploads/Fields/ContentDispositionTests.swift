import Testing

@testable import Door

struct ContentDispositionTests {
    @Test(
        arguments: [
            ("form-data; name=\"f\"; filename=\"a.txt\"", "a.txt"), ("form-data; filename=a.txt ; name=f", "a.txt"),
            ("attachment; FILENAME=\"a;b=c.txt\"", "a;b=c.txt"), ("form-data; filename=\"a\\\"b.txt\"", "a\"b.txt"),
            ("form-data; filename=\"a%22b%0D%0A.txt\"", "a\"b%0D%0A.txt"),
            ("form-data; filename=\"C:\\new\\a\"", "C:\\new\\a"),
            ("form-data; filename=\"x\"; filename*=UTF-8''%e2%82%ac%20rates", "€ rates"),
            ("form-data; filename=\"x\"; filename*=ISO-8859-1''%a3", "x"), ("form-data; filename*=UTF-8''%ff", nil),
            ("form-data; filename=\"\"", ""), ("form-data; name=\"f\"", nil),
            ("form-data; filename=\"ü.txt\"", "ü.txt"),
        ] as [(String, String?)])
    func `the file name is text, with or without quotes and character set`(field: String, name: String?) throws {
        let parameters = try #require(FieldParameters(field.utf8))
        #expect(DispositionFileName.read(parameters) == name)
    }

    @Test(arguments: ["", ";", "a; =b", "a; b", "a; b=\"c", "a; b=\"c\"d", "a; b c=d"])
    func `malformed parameters are refused`(field: String) { #expect(FieldParameters(field.utf8) == nil) }

    @Test func `bytes that are not UTF-8 are refused`() {
        #expect(FieldParameters(Array("form-data; filename=\"".utf8) + [0xFF, 0x22]) == nil)
    }
}
