/** Uses all code that is loaded lazily, and prints the responses in one line. */
import {
  Auth,
  bootstrap,
  Controller,
  Field,
  Get,
  GraphQL,
  Module,
  NoAuth,
  Post,
  Secured,
  type Claims,
  type UploadedFile,
} from 'filigree'

class Named {
  @Field('string', { pattern: /^[a-z]+$/ }) name!: string
}

@Controller('/')
class Everything {
  @Get('/<id:int>', { args: ['id'] }) show(id: number) {
    return { id }
  }
  @Post('/form', { body: Named, args: ['body'] }) @NoAuth form(body: Named) {
    return body
  }
  @Post('/upload', { args: ['files'] }) @NoAuth upload(files: { one: UploadedFile }) {
    return { size: files.one.size }
  }
  @Get('/me', { args: ['user'] }) @Secured me(user: Claims) {
    return { sub: user.sub }
  }
}

const graphql = new GraphQL()
graphql.schema.addQuery('two', { type: 'Int', resolve: () => 2 })
graphql.registerRoute('/graphql')

@Module({ controllers: [Everything], graphql: [graphql] })
class AppModule {}

const app = await bootstrap(AppModule, {
  listen: false,
  logger: false,
  static: { '/files': new URL('files', import.meta.url).pathname },
  env: { NODE_ENV: 'test' },
})
const answers: Record<string, unknown> = {}
/** @param part `type` for the media type instead of the text, `line` for the first line only */
async function print(
  name: string,
  request: Parameters<typeof app.inject>[0],
  part?: 'type' | 'line',
) {
  const { status, body, headers } = await app.inject(request)
  const text = part === 'type' ? String(headers['content-type']) : body
  const [first = ''] = text.split(/[;\n]/)
  answers[name] = [status, part === undefined ? text : first]
}
const upload = new FormData()
upload.append('one', new Blob(['abc']), 'one.txt')

await print('json', { url: '/7' })
await print('form', { method: 'POST', url: '/form', form: { name: 'a' } })
await print('upload', { method: 'POST', url: '/upload', multipart: upload })
await print('file', { url: '/files/a.txt' })
await print('missing', { url: '/files/b.txt' })
await print('graphql', { method: 'POST', url: '/graphql', json: { query: '{ two }' } })
await print('document', { url: '/swagger/openapi.yaml' }, 'line')
await print('page', { url: '/swagger' }, 'line')
await print('script', { url: '/swagger/swagger-ui-bundle.js' }, 'type')
await print('ide', { url: '/graphql', headers: { accept: 'text/html' } }, 'line')
const token = await app.get(Auth).getToken({ sub: '7' })
await print('signedIn', { url: '/me', token })
await app.close()
process.stdout.write(JSON.stringify(answers))
