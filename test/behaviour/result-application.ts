/** An application whose handlers return a value that the test sets. It also has files, streams and failing handlers. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  bootstrap,
  Controller,
  events,
  Field,
  file,
  Get,
  HttpError,
  Module,
  NoAuth,
  Post,
  redirect,
  type Application,
  type BootstrapOptions,
  type InjectRequest,
  type InjectResponse,
} from '../../src/index.js'

export const jsonType = 'application/json; charset=utf-8'
export const textType = 'text/plain; charset=utf-8'

export class Item {
  @Field('integer') id!: number
}

let currentResult: unknown

/** Sets what `/given`, `/declared` and `/made` return. A function is called for each request to `/given`. */
export function setResult(value: unknown): void {
  currentResult = value
}

/** Sends a request to `/given`, whose handler returns the value. */
export function requestWith(
  app: Application,
  value: unknown,
  request: Partial<InjectRequest> = {},
): Promise<InjectResponse> {
  setResult(value)
  return app.inject({ url: '/given', ...request })
}

/** A folder with two files, a hidden one, and a symbolic link to a file outside. */
class Folder {
  root = ''

  async onStart(): Promise<void> {
    this.root = await mkdtemp(join(tmpdir(), 'filigree-root-'))
    await mkdir(join(this.root, 'sub'))
    await writeFile(join(this.root, 'a.txt'), '0123456789')
    await writeFile(join(this.root, 'sub', 'page.html'), '<p>Hi')
    await writeFile(join(this.root, '.env'), 'SECRET')
    await symlink('/etc/hosts', join(this.root, 'link.txt'))
  }

  onStop(): Promise<void> {
    return rm(this.root, { recursive: true })
  }
}

@Controller
class AnswerController {
  static inject = [Folder]
  constructor(private readonly folder: Folder) {}

  @Get('/given')
  currentResult() {
    return typeof currentResult === 'function' ? (currentResult as () => unknown)() : currentResult
  }

  @Get('/declared', { returns: Item })
  declared() {
    return currentResult
  }

  @Post('/made', { status: 201 })
  @NoAuth
  postResult() {
    return currentResult
  }

  @Get('/file/<path:path>')
  file(path: string) {
    return file(path, { root: this.folder.root })
  }

  @Get('/named')
  named(query: { name: string }) {
    return file(query.name, { root: this.folder.root })
  }

  @Get('/redirect')
  away() {
    return redirect('/given')
  }

  @Get('/stream')
  async *stream() {
    yield 'one,'
    yield Buffer.from('two')
  }

  @Get('/events')
  events() {
    return events(['hello', { data: { eur: 3 }, event: 'price', id: 7, retry: 100 }])
  }

  @Get('/crash')
  crash() {
    throw new Error('secret: /etc/passwd at line 7')
  }

  @Get('/reject')
  async reject() {
    await Promise.reject(new TypeError('secret'))
  }

  @Get('/taken')
  conflict() {
    throw new HttpError(409, 'Taken.', { headers: { 'Retry-After': '5' } })
  }

  @Post('/item')
  @NoAuth
  item(body: Item) {
    return body
  }

  @Post('/secret')
  secret() {
    return {}
  }
}

@Module({ controllers: [AnswerController], providers: [Folder] })
class AnswerModule {}

/** Listens on a free port of 127.0.0.1 and logs nothing. */
export function startAnswers(options: BootstrapOptions = {}): Promise<Application> {
  return bootstrap(AnswerModule, { port: 0, host: '127.0.0.1', logger: false, env: {}, ...options })
}
