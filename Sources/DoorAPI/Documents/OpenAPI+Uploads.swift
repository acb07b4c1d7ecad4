extension OpenAPIDocument {
    static let uploadPaths = """
          /uploads:
            get:
              operationId: listUploads
              tags: [uploads]
              summary: A page of uploads, the newest first
              security: [{token: [read]}]
              parameters:
                - {name: state, in: query, schema: {$ref: '#/components/schemas/UploadState'}}
                - {$ref: '#/components/parameters/limit'}
                - {$ref: '#/components/parameters/cursor'}
              responses:
                '200':
                  description: A page
                  headers: {Link: {$ref: '#/components/headers/Link'}}
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [uploads, next]
                        properties:
                          uploads: {type: array, items: {$ref: '#/components/schemas/Upload'}}
                          next: {$ref: '#/components/schemas/Next'}
                default: {$ref: '#/components/responses/Problem'}
          /uploads/{id}:
            get:
              operationId: showUpload
              tags: [uploads]
              summary: An upload
              security: [{token: [read, upload]}]
              parameters: [{$ref: '#/components/parameters/id'}]
              responses:
                '200':
                  description: The upload
                  content: {application/json: {schema: {$ref: '#/components/schemas/Upload'}}}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: removeUpload
              tags: [uploads]
              summary: End an upload and delete its bytes
              description: A token with the scope upload ends its own, one with the scope control any.
              security: [{token: [control, upload]}]
              parameters: [{$ref: '#/components/parameters/id'}]
              responses:
                '204': {description: It has ended}
                default: {$ref: '#/components/responses/Problem'}
        """
}
