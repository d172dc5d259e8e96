/**
 * The public API of Filigree: everything an application imports, and every type that its declaration files name.
 * Grouped by layer, from declarations to the application.
 */

export type {
  ClientError,
  ErrorForm,
  ErrorsOptions,
  ClientFieldError,
  FormedError,
} from './http/error-form.js'
export type { ErrorPage, PageError } from './http/error-page.js'
export type { FieldError } from './errors/field-error.js'
export type { HttpErrorChanges } from './errors/http-error.js'
export {
  DeclarationError,
  HttpError,
  type HttpErrorOptions,
  type Problem,
} from './errors/for-applications.js'
export { missingPackage, type MissingPackage } from './errors/missing-package.js'
export { isHarmlessHeader, isSecretName } from './core/secrets.js'
export { hideShapes } from './core/secrets.js'
export { clip, escapeHtml, normalizeText, tryDecode } from './core/text.js'
export {
  declareOptions,
  type DeclaredOptions,
  type Option,
  type OptionsOf,
  type ValuesOf,
} from './options/declare-options.js'
export { option } from './options/option.js'

export type { AnyDecorator } from './metadata/dialect.js'

export { Field } from './fields/field.js'
export type { FieldDecorator, FieldTypes } from './fields/property-types.js'
export { omit, partial, pick } from './fields/derive.js'
export { Page } from './fields/derive.js'
export { checkOf, type CheckOfOptions } from './fields/checked-shape.js'
export type { InputCheck } from './fields/compile-input.js'
export type { FieldRules } from './fields/rules.js'

export { Controller, type ControllerOptions } from './routing/decorators.js'
export { Delete, Get, Patch, Post, Put, type RouteOptions } from './routing/decorators.js'

export type { RouteInfo, RouteMetadata } from './routing/route.js'
export { entityTag, matchesEntityTag } from './http/entity-tag.js'
export { acceptsEventStream } from './http/accept.js'
export { trackCallerAccess, type CallerAccess } from './http/caller-access.js'
export type { RouteResponse, RouteResponseHeaders } from './http/route-response.js'
export { requestedOperation, type RequestedOperation } from './graphql/operation-request.js'
export { requestValue, type RequestValue } from './http/request.js'
export type { Claims, HttpRequest, RequestAuth, Session, UploadedFiles } from './http/request.js'
export type { UploadedFile } from './http/upload.js'
export { html, redirect, reply, type RedirectStatus, type Reply } from './http/reply.js'
export { file, type FileBody, type FileOptions } from './http/file-reply.js'
export { events, type EventItem, type EventStream } from './http/events.js'
export type { CookieOptions } from './http/cookies.js'
export type { CorsOptions } from './http/cors.js'
export { addressKey } from './core/address-counts.js'
export { Clock } from './core/time.js'
export { PublicUrl } from './bootstrap/public-url.js'
export { readSeconds } from './core/time.js'
export { readRate, type Rate } from './core/time.js'
export { parseJson } from './core/json.js'
export { isStorable } from './core/text.js'
export {
  addLogFields,
  fieldsOf as logFieldsOf,
  type DeferredLog,
  type Log,
  type LogFields,
} from './core/log.js'
export type { ChildLog, WriteLine } from './http/request.js'

export { NoAuth, Secured, type SecuredOptions } from './auth/decorators.js'
export type { Guard } from './auth/access.js'
export { Auth, type VerifyOptions } from './auth/auth.js'
export type { TokenOptions } from './auth/tokens.js'
export type { Renew } from './auth/renewal.js'
export type { AuthOptions, RotationOptions } from './auth/options.js'
export type { ReadToken } from './auth/options.js'
export type { SignInEntry } from './auth/sign-ins.js'
export { hashPassword, verifyPassword } from './auth/password.js'
export type { SessionStore } from './auth/session-stores.js'

export { Use } from './extensions/interceptor.js'
export {
  createDecorator,
  type DecoratorProblem,
  type DecoratorSpecification,
  type CustomDecorator,
} from './extensions/custom-decorator.js'
export { Operational } from './extensions/custom-decorator.js'
export { Undocumented } from './extensions/custom-decorator.js'
export { Live } from './live/live.js'
export type { LiveQueriesOptions } from './live/live.js'
export {
  createMetadata,
  type CustomMetadata,
  type WarnedApplication,
} from './extensions/custom-metadata.js'
export { HealthCheck } from './extensions/custom-metadata.js'
export { pendingWork, resetState } from './core/provider-symbols.js'
export type {
  OnEnter,
  EntryInterceptor,
  Intercept,
  Interceptor,
  InterceptorClass,
  Next,
  InterceptorPosition,
} from './extensions/interceptor.js'
export type { ArgumentResolver } from './extensions/argument-resolvers.js'

export type { Deprecated } from './openapi/doc.js'
export { Doc, type DocHeader, type DocOptions, type DocResponse } from './openapi/doc.js'
export type { DocsOptions } from './openapi/docs-options.js'
export { schemaOf } from './openapi/schemas.js'
export { withLocalDefinitions } from './openapi/schemas.js'
export type { OpenApiDocument } from './openapi/document.js'

export {
  Record,
  type RecordConstraint,
  type RecordIndex,
  type RecordPartitions,
  type RecordOptions,
  type RowsCaller,
} from './records/model/record.js'
export {
  AfterCommit,
  AfterDelete,
  AfterWrite,
  BeforeDelete,
  BeforeWrite,
} from './records/model/write-hooks.js'
export type {
  CommitContext,
  DeleteContext,
  HookCaller,
  WriteContext,
} from './records/hook-contexts.js'
export { addRecords } from './records/model/record.js'
export { BelongsTo, HasMany, ManyToMany, type Rel } from './records/model/relations.js'
export type { Generated, HasDefault, IsRelated, IsRelation } from './records/model/generated.js'
export type {
  Loaded,
  MaybeLoaded,
  Row,
  RowBy,
  RowOf,
  Visible,
  WithCounts,
} from './records/model/loaded-rows.js'
export { connect, Database } from './records/public-database.js'
export type { Transaction } from './records/transaction.js'
export type { DatabaseTimeouts } from './records/database-timeouts.js'
export type { OpenTransaction } from './core/transaction.js'
export type { Row as SqlRow } from './engines/contract/engine.js'
export type {
  BoundSql,
  CustomSql,
  CustomSqlOptions,
  SqlValues,
  SqlFragments,
  Heartbeat,
  HeartbeatOptions,
} from './records/custom-sql.js'
export { pglite, type PgliteOptions } from './engines/pglite/pglite.js'
export { inMemory } from './engines/engine-for-url.js'
export type { EngineSource } from './engines/contract/engine.js'
export type { Repository } from './records/repository.js'
export { recordsAs, type CallerRecords } from './records/rest/caller-records.js'
export type { Presentation } from './fields/kinds/kind.js'
export {
  describeFields,
  describeRecord,
  toClientRow,
  type FieldDescription,
  type RecordDescription,
  type RecordRights,
  type RelationDescription,
} from './records/rest/record-rights.js'
export type { CheckContext, EarlierChecks } from './records/clients/check-row.js'
export { readCsv, type CsvRow, type ReadCsvOptions } from './csv/read-csv.js'
export type { CsvSource } from './csv/utf8.js'
export type { RowError } from './csv/csv-error.js'
export type { ImportableRecords } from './csv/csv-records.js'
export {
  importRows,
  type ImportProgress,
  type ImportResult,
  type ImportRowsOptions,
} from './csv/import-rows.js'
export { exportRows, type ExportRowsOptions } from './csv/export-rows.js'
export { visibleRecords, type VisibleRecords } from './records/rest/visible-records.js'
export type { VisibleMembers } from './openapi/visible-members.js'
export type { ExactNumber, RelationPath } from './records/model/query-names.js'
export type { Selected, SelectOptions, Where } from './records/model/record-types.js'
export { StoredValueError, type StoredValuePlace } from './records/model/stored-value-error.js'
export {
  decimalText,
  decimalValue,
  type DecimalDigits,
  type DecimalText,
} from './records/statements/kysely-decimals.js'
export { skip, type Skip } from './records/model/skip.js'
export type {
  CountOptions,
  FindOneOptions,
  FindOptions,
  FirstOptions,
  ListOptions,
} from './records/filters/list-options.js'
export type {
  AggregateOptions,
  AggregateRow,
  TimeGrouping,
} from './records/aggregates/aggregate-types.js'
export type { TimeUnit } from './engines/contract/dialect.js'
export type { Change } from './records/changes/changes.js'
export type { ChangesOptions, MissedChanges } from './records/changes/follow-changes.js'
export type { DeleteOptions, UpdateOptions } from './records/statements/write-options.js'
export type { Changes } from './records/statements/additions.js'
export type {
  NestedChanges,
  NestedList,
  NestedOne,
  NewRow,
  NewValues,
} from './records/statements/read-tree.js'
export type { TransactionOptions } from './records/statements/transaction-options.js'
export type { QueryBuilder, SqlResult, SqlTag } from './records/statements/builder.js'
export type { ScriptContext } from './bootstrap/script-context.js'
export type {
  BatchContext,
  MigrationBatches,
  MigrationContext,
} from './records/migrations/migration-module.js'

export { GraphQL, type GraphQLOptions, type GraphQLRouteOptions } from './graphql/graphql.js'
export type { ErrorEntry } from './graphql/errors.js'
export type { RequestContext } from './graphql/operation-caller.js'
export type { GraphqlLimits } from './graphql/limits.js'
export type { GraphQLResult } from './graphql/outcome.js'
export type { AddedFieldDefinition, RootDefinition, Schema } from './graphql/schema.js'
export { Resolve, type ResolveOptions } from './graphql/records/model.js'
export { fromGlobalId, toGlobalId, type GlobalId } from './graphql/records/global-ids.js'

export { bootstrap } from './bootstrap/bootstrap.js'
export type { Application, RouteSummary } from './bootstrap/application.js'
export type { InjectRequest, InjectResponse } from './serving/inject.js'
export type { BootstrapOptions } from './bootstrap/options.js'
export type { VersionsOptions } from './bootstrap/versions.js'
export { Module, type ModuleOptions } from './bootstrap/module.js'
export { Config } from './bootstrap/config-classes.js'
export { createModule } from './bootstrap/module.js'
export { Injectable, type Inject, type ProviderDeclaration } from './bootstrap/provider.js'
export {
  findMethodProblems,
  providerMethod,
  type ProviderMethod,
} from './bootstrap/provider-method.js'
export { resolveClass, type Class, type ClassReference } from './metadata/class.js'
export type { Lifecycle } from './bootstrap/container.js'
export { ApplicationState, type Check } from './serving/application-state.js'
export {
  Routes,
  type DescribedRoutes,
  type RouteCall,
  type RouteDescriptions,
} from './serving/routes.js'
export type { InternalResponse } from './http/in-memory/fake-response.js'
export { WorkChannel, type WatchedWork } from './core/diagnostics.js'
export type { RequestObserver, RequestOutcome } from './http/request-observers.js'
export type { Gauge, ScrapeEvent } from './core/diagnostics.js'
export type { JobAddedEvent, JobEvent, JobOutcome } from './core/diagnostics.js'
export type { ToolEvent } from './core/diagnostics.js'
export type { GateEvent, HandlerEvent, RequestEvent } from './http/request-observers.js'
export type { StatementEvent } from './records/statement-tracking.js'
export type { PoolState } from './engines/contract/engine.js'
export type { ReplicaState } from './engines/contract/engine.js'
export type { GraphqlEvent } from './graphql/outcome.js'
export { currentRequest } from './serving/current-request.js'
export {
  oneTime,
  type OneTime,
  type OneTimeMakeOptions,
  type OneTimeOptions,
  type OneTimeProvider,
} from './records/one-time.js'
