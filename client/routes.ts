/**
 * The types of calls, with and without known routes. They cost no bytes.
 *
 * `filigree types` writes one interface, flat, a line per route, keyed by method, space and pattern as the controllers
 * spell it. Each value has up to three members, all types of the server's own declarations, as they stand there:
 *
 * ```ts
 * import type { ItemController, NewItem, ReportQuery } from './items.js'
 *
 * export interface Routes {
 *   'GET /items/<id:int>': { result: ReturnType<ItemController['show']> }
 *   'GET /items/report': { params: ReportQuery; result: ReturnType<ItemController['report']> }
 *   'POST /items': { body: NewItem; result: ReturnType<ItemController['create']> }
 *   'POST /photos': { body: FormData; result: ReturnType<PhotoController['photo']> }
 * }
 * ```
 *
 * - `params`: the class of the query. Left out: any params. Required where a member of it is.
 * - `body`: the class of the body; `FormData` for a handler with `files`; `unknown` for a handler that accepts any body.
 *   Left out: the route takes no body.
 * - `result`: what the handler returns, promise, `Reply` and `null` included; for a route with `returns`, which answers
 *   404 in place of null, `NonNullable<Awaited<ReturnType<…>>>`. Left out: unknown.
 * - `related`: for rows of records, the related rows that `with` can add, by relation: `{ project: { row: Project; related:
 *   ProjectRelated } }`, with `list: true` for a relation to many. Left out: `with` is a param like any other.
 *
 * A key of several fields is spelled with each of them: `GET /order-lines/<orderId>,<line:int>`.
 *
 * Values of the path are read from the key itself. Dates, functions and the like are turned into what JSON makes of them
 * here, so the generator need not know. Interfaces and imports are enough: `import type` keeps the server out of the page.
 */
import type {
  ApiResponse,
  ClientOptions,
  ClientSettings,
  CommonOptions,
  Interceptor,
  Params,
  RequestConfig,
  RequestOptions,
} from './options.js'

/** One value of a generated `Routes` interface. */
export interface RouteTypes {
  params?: unknown
  body?: unknown
  result?: unknown
  related?: object
}

declare const untyped: unique symbol

/** Stands for `Routes` if none are given: every path is allowed, and the result is not typed. */
export interface Untyped {
  readonly [untyped]: true
}

/** The parts that both kinds of clients have. */
export interface ClientBase {
  /**
   * Changes the given settings; applies to calls that start later.
   *
   * @returns all settings as they are now
   */
  configure(options: ClientOptions): ClientSettings
  /** Runs for calls that start later, after those registered before it, until the returned function is called. */
  intercept(kind: 'request', interceptor: Interceptor<RequestConfig>): () => void
  /** Also runs before an unsuccessful response rejects the call. */
  intercept(kind: 'response', interceptor: Interceptor<ApiResponse>): () => void
}

// Calls without types read any member of the response, or name its type.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type AnyResult = any

/**
 * Every method resolves to the parsed body of the response.
 *
 * They reject with an `ApiError` for an unsuccessful response, with `TimeoutError`, with the signal's reason, or with the
 * platform's own error (no `status`) if there was no response.
 */
export interface PlainClient extends ClientBase {
  get<T = AnyResult>(path: string, options?: RequestOptions): Promise<T>
  post<T = AnyResult>(path: string, body?: unknown, options?: RequestOptions): Promise<T>
  put<T = AnyResult>(path: string, body?: unknown, options?: RequestOptions): Promise<T>
  patch<T = AnyResult>(path: string, body?: unknown, options?: RequestOptions): Promise<T>
  /** A body is given as `options.body`. */
  delete<T = AnyResult>(path: string, options?: RequestOptions): Promise<T>
}

/** Like `PlainClient`, but only for known routes: unknown paths, wrong params and wrong bodies do not compile. */
export interface TypedClient<
  R,
  Get extends string,
  Post extends string,
  Put extends string,
  Patch extends string,
  Delete extends string,
> extends ClientBase {
  /**
   * @typeParam W the names in `params.with`, whose related rows are in the result: `['project', 'reviews.author']`
   */
  get<P extends Get, const W extends QueryWith<RouteOf<R, `GET ${P}`>> = undefined>(
    path: P,
    ...rest: WithOptions<OwnOptions<RouteOf<R, `GET ${P}`>, P, W>>
  ): Promise<ResultOf<RouteOf<R, `GET ${P}`>, W>>
  post<P extends Post>(
    path: P,
    ...rest: WithBody<RouteOf<R, `POST ${P}`>, P>
  ): Promise<ResultOf<RouteOf<R, `POST ${P}`>>>
  put<P extends Put>(
    path: P,
    ...rest: WithBody<RouteOf<R, `PUT ${P}`>, P>
  ): Promise<ResultOf<RouteOf<R, `PUT ${P}`>>>
  patch<P extends Patch>(
    path: P,
    ...rest: WithBody<RouteOf<R, `PATCH ${P}`>, P>
  ): Promise<ResultOf<RouteOf<R, `PATCH ${P}`>>>
  delete<P extends Delete>(
    path: P,
    ...rest: WithOptions<
      OwnOptions<RouteOf<R, `DELETE ${P}`>, P> & { body?: RouteBody<RouteOf<R, `DELETE ${P}`>> }
    >
  ): Promise<ResultOf<RouteOf<R, `DELETE ${P}`>>>
}

export type Client<R extends object = Untyped> = [R] extends [Untyped]
  ? PlainClient
  : TypedClient<
      R,
      PathOf<keyof R, 'GET'>,
      PathOf<keyof R, 'POST'>,
      PathOf<keyof R, 'PUT'>,
      PathOf<keyof R, 'PATCH'>,
      PathOf<keyof R, 'DELETE'>
    >

// The paths of a method are found once, as arguments of TypedClient, not by every call. A call looks up its exact key;
// matching concrete addresses against patterns is what makes other typed clients slow.
type PathOf<Key, Method extends string> = Key extends `${Method} ${infer Path}` ? Path : never
// Not R[Key], which would list all routes again.
type RouteOf<R, Key extends string> = R extends Record<Key, infer Route> ? Route : never

/** The values for a pattern: `/items/<id:int>/<rest:path>` needs `{ id: number; rest: string }`. */
export type PathValues<Path extends string> =
  Path extends `${infer Head}<${infer Inner}>${infer Rest}`
    ? PathValues<Head> & PathPartValue<Inner> & PathValues<Rest>
    : Path extends `${string}{${infer Inner}}${infer Rest}`
      ? PathPartValue<Inner> & PathValues<Rest>
      : unknown
type PathPartValue<Inner extends string> = Inner extends `${infer Name}:${infer Type}`
  ? Record<Name, Type extends 'int' | 'float' ? number : string>
  : Record<Inner, string>

// Options of one route are separate from those of all calls, so that the compiler only compares the small part.
type OwnOptions<
  Route,
  Path extends string,
  W = undefined,
> = (Path extends `${string}${'<' | '{'}${string}` ? { path: PathValues<Path> } : unknown) &
  (Route extends { params: infer Query }
    ? QueryOption<Query>
    : Route extends { related: object }
      ? { params?: Params & { with?: W } }
      : { params?: Params })
type QueryOption<Query> =
  Partial<Query> extends Query ? { params?: Sent<Query> } : { params: Sent<Query> }

type WithOptions<Own> = object extends Own
  ? [options?: CommonOptions & Own]
  : [options: CommonOptions & Own]
type WithBody<Route, Path extends string> = Route extends { body: unknown }
  ? [body: RouteBody<Route>, ...WithOptions<OwnOptions<Route, Path>>]
  : object extends OwnOptions<Route, Path>
    ? [body?: null, options?: CommonOptions & OwnOptions<Route, Path>]
    : [body: null | undefined, options: CommonOptions & OwnOptions<Route, Path>]
// A form can have the fields of any object; the server checks them.
type RouteBody<Route> = Route extends { body: infer Body }
  ? Sent<Body> | FormData | URLSearchParams
  : undefined
type ResultOf<Route, W = undefined> = Route extends { result: infer Result }
  ? [W] extends [undefined]
    ? Answered<Awaited<Result>>
    : Route extends { related: infer Related }
      ? WithRelated<Answered<Awaited<Result>>, Related, W>
      : Answered<Awaited<Result>>
  : unknown

// Related rows.

/** The values of `with`: a name or a list. Names are checked on two levels; deeper ones only by the server. */
type QueryWith<Route> =
  | undefined
  | (Route extends { related: infer Related }
      ? RelatedPath<Related> | readonly RelatedPath<Related>[]
      : undefined)
type RelatedPath<Related> = {
  [K in keyof Related & string]:
    | K
    | (Related[K] extends { related: infer More }
        ? `${K}.${keyof More & string}` | `${K}.${keyof More & string}.${string}`
        : never)
}[keyof Related & string]

/** @typeParam W a name, a list of literals, or a list that only the run time knows, whose relations may be missing */
type WithRelated<T, Related, W> = 0 extends 1 & W
  ? AddToRows<T, Partial<RowsOfRelated<Related, keyof Related & string>>>
  : W extends readonly (infer Name)[]
    ? number extends W['length']
      ? AddToRows<T, Partial<RowsOfRelated<Related, Name>>>
      : AddToRows<T, RowsOfRelated<Related, Name>>
    : AddToRows<T, RowsOfRelated<Related, W>>
type AddToRows<T, Added> = T extends readonly (infer Row)[] ? (Row & Added)[] : T & Added
type RowsOfRelated<Related, Paths> = {
  [K in keyof Related & PathHead<Paths>]: RelatedValue<Related[K], PathTail<Paths, K>>
}
type RelatedValue<Entry, Paths> = Entry extends { list: true }
  ? RelatedRow<Entry, Paths>[]
  : // A caller may not see the row.
    RelatedRow<Entry, Paths> | null
type RelatedRow<Entry, Paths> = Entry extends { row: infer Row }
  ? [Paths] extends [never]
    ? Received<Row>
    : Entry extends { related: infer More }
      ? Received<Row> & RowsOfRelated<More, Paths>
      : Received<Row>
  : unknown
/** `reviews` of `reviews.author`. */
type PathHead<Path> = Path extends `${infer Name}.${string}` ? Name : Path
/** `author` of `reviews.author`. */
type PathTail<Path, Name> = Path extends `${Name & string}.${infer Rest}` ? Rest : never

// Paths of live queries.

/** The GET routes by the form of their addresses: `/items/<id:int>` is `/items/${number}`. */
type RoutesByAddress<R> = {
  [Key in keyof R & string as Key extends `GET ${infer Path}` ? RouteAddress<Path> : never]: R[Key]
}
type RouteAddress<Path extends string> = Path extends `${infer Head}<${infer Part}>${infer Rest}`
  ? `${Head}${AddressPart<Part>}${RouteAddress<Rest>}`
  : Path extends `${infer Head}{${infer Part}}${infer Rest}`
    ? `${Head}${AddressPart<Part>}${RouteAddress<Rest>}`
    : Path
type AddressPart<Part extends string> = Part extends `${string}:${'int' | 'float'}`
  ? number
  : string

/** The result of an address: `/tickets/7?with=project,reviews`. Unknown if no route has it. */
export type AddressResult<R, Path extends string> = [R] extends [Untyped]
  ? AnyResult
  : string extends Path
    ? AnyResult
    : Path extends `${infer Plain}?${infer Query}`
      ? ResultOf<AddressRoute<R, Plain>, WithIn<Query>>
      : ResultOf<AddressRoute<R, Path>>
type AddressRoute<R, Path extends string> = Path extends keyof RoutesByAddress<R>
  ? RoutesByAddress<R>[Path]
  : { result: unknown }
/** The names of `with` in a query string, as a tuple: the complete list is known. */
type WithIn<Query extends string> = `&${Query}` extends `${string}&with=${infer Rest}`
  ? [WithNames<Rest extends `${infer Names}&${string}` ? Names : Rest>]
  : undefined
type WithNames<Text extends string> = Text extends `${infer Name},${infer Rest}`
  ? Name | WithNames<Rest>
  : Text

type Callable = (...values: never[]) => unknown
// Lists first: to see whether one is a function, the compiler would examine all its methods.
type DataKey<T, Key extends keyof T> = T[Key] extends PlainValue | undefined | readonly unknown[]
  ? Key
  : T[Key] extends Callable | symbol
    ? never
    : Key
type PlainValue = string | number | boolean | null
// Bytes, Blobs and forms are recognized by one member each: comparing whole platform types is far slower to compile.
type Bytes = { readonly byteLength: number } | { stream(): unknown }
type Raw = Bytes | { append(name: string, value: string): unknown }

/** The type that may be sent for a declared type: its data, with dates as dates or text. */
export type Sent<T> = unknown extends T
  ? T
  : T extends PlainValue | undefined | Raw
    ? T
    : T extends Date
      ? Date | string
      : T extends readonly unknown[]
        ? { [Key in keyof T]: Sent<T[Key]> }
        : { [Key in keyof T as DataKey<T, Key>]: Sent<T[Key]> }

// Bytes, streams and files arrive according to their media type: as a Blob, a string or parsed JSON.
type Answered<T> = unknown extends T
  ? T
  : // A handler without a return is of type void, which nothing else stands for.
    // eslint-disable-next-line @typescript-eslint/no-invalid-void-type
    T extends null | undefined | void
    ? null
    : T extends { readonly body: infer Body; freshToken(token: string): unknown }
      ? Answered<Body>
      : T extends Bytes | AsyncIterable<unknown>
        ? unknown
        : Received<T>

/** The type that arrives for a type which the server returns, after JSON. */
export type Received<T> = unknown extends T
  ? T
  : T extends PlainValue | undefined
    ? T
    : T extends { toJSON(): infer Json }
      ? Received<Json>
      : T extends Callable | symbol | bigint
        ? never
        : T extends readonly unknown[]
          ? { [Key in keyof T]: Received<T[Key]> }
          : { [Key in keyof T as DataKey<T, Key>]: Received<T[Key]> }
