/** The codes of error entries (`extensions.code`) that GraphQL adds to those of `HttpError`. */

/** Stable; messages may change. */
export const graphqlCodes = Object.freeze({
  /** The document is no GraphQL. */
  parse: 'GRAPHQL_PARSE_FAILED',
  /** The document does not fit the schema. */
  validation: 'GRAPHQL_VALIDATION_FAILED',
  /** Variables do not fit their declared types. */
  variables: 'BAD_VARIABLES',
  /** No operation of that name, or several and none named. */
  operation: 'OPERATION_NOT_FOUND',
  /** The request itself is no GraphQL request: no `query`, a list, wrong parts. */
  request: 'BAD_REQUEST',
  /** A token is needed. */
  unauthenticated: 'UNAUTHENTICATED',
  /** The caller's token does not allow it. */
  forbidden: 'FORBIDDEN',
  /** A mutation came by GET. */
  method: 'METHOD_NOT_ALLOWED',
  /** A key that the parent value does not have. */
  unresolved: 'FIELD_NOT_RESOLVED',
  /** A resolver threw a `GraphQLError` without a code, or a value does not fit its scalar. */
  failed: 'EXECUTION_FAILED',
  /** A resolver failed, or gave what its type cannot show. */
  internal: 'INTERNAL_SERVER_ERROR',
  /** No persisted document has this id, or only persisted ones run. */
  persisted: 'PERSISTED_DOCUMENT_NOT_FOUND',
  /** No document with this hash was sent yet: the client is to send the text along. Apollo's name for it. */
  unknownHash: 'PERSISTED_QUERY_NOT_FOUND',
  /** A subscriber was not told of every change. */
  lost: 'EVENTS_LOST',
  bytes: 'DOCUMENT_TOO_LARGE',
  tokens: 'TOO_MANY_TOKENS',
  values: 'TOO_MANY_VALUES',
  depth: 'TOO_DEEP',
  aliases: 'TOO_MANY_ALIASES',
  rootFields: 'TOO_MANY_ROOT_FIELDS',
  cost: 'TOO_COSTLY',
})
