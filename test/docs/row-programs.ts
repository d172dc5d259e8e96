/** Makes programs of the table rows in `docs/coming-from-….md`, which have only the lines that differ. */
import { readParts, withDecorator } from './block-parts.js'

/** Names that rows use without importing them, by package. Types begin with `type`. */
const names: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  Filigree: {
    filigree: [
      ...[
        'createDecorator',
        'Controller',
        'Config',
        'Delete',
        'Doc',
        'events',
        'Field',
        'file',
        'Get',
      ],
      ...['GraphQL', 'HttpError', 'Injectable', 'Module', 'NoAuth', 'pick', 'Post', 'Record'],
      ...['redirect', 'reply', 'Resolve', 'Secured', 'Use', 'type EntryInterceptor'],
      ...['type HttpRequest', 'type Interceptor', 'type Lifecycle', 'type Next'],
      ...['type RequestContext', 'type Session', 'type UploadedFile', 'type BootstrapOptions'],
    ],
    'filigree/throttle': ['throttle'],
    'filigree/cache': ['CacheFor'],
    'filigree/compress': ['compress'],
  },
  NestJS: {
    '@nestjs/common': [
      ...['Body', 'ConflictException', 'Controller', 'createParamDecorator', 'Get', 'Header'],
      ...[
        'HttpCode',
        'Inject',
        'Injectable',
        'Module',
        'Param',
        'ParseIntPipe',
        'Post',
        'Query',
        'Sse',
      ],
      ...['UploadedFile', 'UseInterceptors', 'VersioningType', 'ClassSerializerInterceptor'],
      ...['type CallHandler', 'type ExecutionContext', 'type NestInterceptor'],
      ...['type OnModuleDestroy', 'type OnModuleInit'],
    ],
    '@nestjs/cache-manager': ['CacheInterceptor', 'CacheModule', 'CacheTTL'],
    '@nestjs/config': ['ConfigModule', 'ConfigService'],
    '@nestjs/core': ['APP_GUARD', 'NestFactory'],
    '@nestjs/platform-express': ['FileInterceptor'],
    '@nestjs/swagger': ['ApiProperty', 'ApiTags'],
    '@nestjs/throttler': ['ThrottlerGuard', 'ThrottlerModule'],
    'class-transformer': ['Exclude', 'Type'],
    'class-validator': ['IsInt', 'IsOptional', 'IsString', 'Max', 'MaxLength', 'ValidateNested'],
    rxjs: ['from', 'map'],
  },
  Express: {
    'cookie-parser': ['default as cookieParser'],
    compression: ['default as compression'],
    cors: ['default as cors'],
    express: ['default as express', 'Router', 'type ErrorRequestHandler', 'type RequestHandler'],
    'express-rate-limit': ['rateLimit'],
    'express-session': ['default as session'],
    'express-validator': ['body', 'matchedData', 'validationResult'],
    multer: ['default as multer'],
  },
  tsoa: {
    express: ['type Request as ExpressRequest'],
    'node:stream': ['Readable'],
    tsoa: [
      ...[
        'Body',
        'Controller',
        'Example',
        'FormField',
        'Get',
        'Header',
        'Hidden',
        'Middlewares',
        'Path',
      ],
      ...['Post', 'Produces', 'Query', 'Request', 'Res', 'Response', 'Route', 'Security'],
      ...['SuccessResponse', 'Tags', 'UploadedFile', 'type File', 'type TsoaResponse'],
    ],
  },
  TypeGraphQL: {
    'class-validator': ['MaxLength', 'Min'],
    graphql: ['GraphQLError', 'printSchema'],
    'type-graphql': [
      ...[
        'Arg',
        'Authorized',
        'buildSchema',
        'Ctx',
        'Field',
        'FieldResolver',
        'Float',
        'ID',
        'InputType',
      ],
      ...['Int', 'Mutation', 'ObjectType', 'Query', 'registerEnumType', 'Resolver', 'Root'],
      ...['Subscription', 'UseMiddleware', 'type MiddlewareFn'],
    ],
  },
  TypeORM: { typeorm: ['In', 'Like', 'MoreThanOrEqual', 'QueryFailedError'] },
  Prisma: {},
}

/**
 * @param side `Express`
 * @param parts the codes of a cell: methods of a controller or resolver, declarations, options of a module or of the start
 * @param before a block that the section shows before its table
 */
export function toRowProgram(side: string, parts: readonly string[], before?: string): string {
  const code = toProgram(side, parts, before)
  return `${importsOf(side, code)}${code}`
}

function importsOf(side: string, code: string): string {
  return Object.entries(names[side] ?? {})
    .map(([from, all]) => {
      const used = all.filter((name) => {
        const bareName = name.replace(/^.* /, '')
        const declared = new RegExp(
          `(?:class|const|interface|function) ${bareName}\\b|import [^\\n]*\\b${bareName}\\b`,
        )
        return new RegExp(`\\b${bareName}\\b`).test(code) && !declared.test(code)
      })
      return used.length === 0 ? '' : `import { ${used.join(', ')} } from '${from}'\n`
    })
    .join('')
}

function toProgram(side: string, parts: readonly string[], before: string | undefined): string {
  if (before !== undefined) return `${before}\n${toAnswer(parts)}`
  if (side === 'Express') return `const app = express()\n${parts.join('\n')}`
  if (parts.some((part) => part.startsWith('graphql.')))
    return `const graphql = new GraphQL()\n${parts.join('\n')}\ngraphql.registerRoute('/graphql')`
  return toClass(side, parts)
}

/** Runs all parts in order. The value of the last one is the result. */
function toAnswer(parts: readonly string[]): string {
  return `${parts.slice(0, -1).join('\n')}\nexport const answer = await ${parts.at(-1) ?? ''}\n`
}

const heads: Readonly<Record<string, string>> = {
  Filigree: "@Controller('/items')\nclass ItemController",
  NestJS: "@Controller('items')\nclass ItemController",
  tsoa: "@Route('items')\nexport class ItemController extends Controller",
  TypeGraphQL: '@Resolver()\nclass ItemResolver',
}

/** Puts methods into a class, and module options into a module that lists the class. */
function toClass(side: string, lines: readonly string[]): string {
  // Only a comment at the beginning of a line belongs to the following code.
  const parts = lines.map((line) => line.replace(/ \/\*\*/g, '\n/**'))
  const isMember = (part: string): boolean =>
    /^(?:@|static |constructor|private |\/\*\*)/.test(part) &&
    !/\b(?:class|interface) [A-Z]/.test(part)
  const isOption = (part: string): boolean => /^(?:imports|providers|use|arguments): /.test(part)
  const members = parts.filter(isMember)
  const options = parts.filter(isOption)
  const starts = parts.filter((part) => /^(?:bootstrap|buildSchema|app\.)/.test(part))
  const declared = parts.filter((part) => ![...members, ...options, ...starts].includes(part))
  const code = [
    ...declared,
    ...(members.length === 0 ? [] : [`${heads[side] ?? ''} {\n${members.join('\n')}\n}`]),
  ].join('\n')
  return [
    code,
    toModule(side, code, options, starts),
    ...starts.map((start) => toStart(start)),
  ].join('\n')
}

function toModule(
  side: string,
  code: string,
  options: readonly string[],
  starts: readonly string[],
): string {
  const isNested = starts.some((start) => start.startsWith('app.'))
  if (options.length === 0 && !isNested) return ''
  const listed = (decorator: string): string => withDecorator(readParts(code), decorator).join(', ')
  const hasOwn =
    code.includes('@Module(') || options.some((option) => option.startsWith('providers'))
  const all = hasOwn ? '' : `providers: [${listed('Injectable')}],`
  return `@Module({ controllers: [${listed('Controller')}], ${all} ${options.join(', ')} })\nclass AppModule {}`
}

function toStart(start: string): string {
  const [, options] = /^bootstrap\(AppModule, (.*)\)$/.exec(start) ?? []
  if (options !== undefined) return `export const options: BootstrapOptions = ${options}`
  if (start.startsWith('buildSchema'))
    return `const schema = await ${start.replace('{ ', '{ resolvers: [ItemResolver], ')}`
  return `const app = await NestFactory.create(AppModule)\n${start}\nawait app.listen(3000)`
}
