/** Filigree: the file streamed to disk and removed after the answer. */
import {
  bootstrap,
  Controller,
  Module,
  NoAuth,
  Post,
  type UploadedFile,
} from '../../../dist/server/index.js'
import { announce } from '../contract.mjs'

@Controller('/upload')
class UploadController {
  @Post('/', { limit: '64gb' })
  @NoAuth
  store(files: { file: UploadedFile }) {
    return { size: files.file.size }
  }
}

@Module({ controllers: [UploadController] })
class AppModule {}

const app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false })
announce(app.url)
