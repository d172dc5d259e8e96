/** A small application for the commands that describe one. */
import {
  Controller,
  createDecorator,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  Record,
  Secured,
} from 'filigree'

export const WithCounts = createDecorator('WithCounts', () => ({
  before: 'gate' as const,
  enter: () => () => undefined,
}))

class NewItem {
  @Field('string') name!: string
  @Field('numeric', { optional: true }) price?: number
}

@Controller('/items')
class ItemController {
  @Get('/<id:int>') show(id: number) {
    return { id }
  }
  @Get('/new') form(): string {
    return 'form'
  }
  @Get('/<name>') byName(name: string) {
    return { name }
  }
  @Post('/', { body: NewItem }) @WithCounts() add(body: NewItem) {
    return body
  }
  @Get('/report') @Secured('admin', 'auditor') report(): string {
    return 'report'
  }
  @Post('/hook') @NoAuth hook(body: unknown): unknown {
    return body
  }
  /** For modules alone. */
  @Get('/inside', { internal: true }) inside(): string {
    return 'inside'
  }
}

@Record({ writes: 'editor' })
export class Note {
  @Field('id') id!: number
  @Field('string') text!: string
}

@Controller('/notes', { crud: Note })
class NoteController {}

@Record({ rows: (user) => user !== null && { owner: user.sub } })
class Draft {
  @Field('id') id!: number
  @Field('string') owner!: string
}

@Controller('/drafts', { crud: Draft })
class DraftController {}

@Module({
  controllers: [ItemController, NoteController, DraftController],
  records: [Note, Draft],
})
export class AppModule {}
