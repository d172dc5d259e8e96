/**
 * What the official conformance suite of the Model Context Protocol asks a server for: `npm run test:mcp` starts it on `PORT`
 * and runs the suite against `/mcp`. Names and answers are the suite's.
 */
import { bootstrap, Controller, Field, Module, reply } from 'filigree'
import { mcp, Prompt, Resource, type ToolCall } from 'filigree/mcp'
import { picture } from './media.js'
import { AskingTools, PlainTools } from './tools.js'

@Controller()
class Resources {
  @Resource('test://static-text', { description: 'A text.', mime: 'text/plain' })
  text(): string {
    return 'This is the content of the static text resource.'
  }

  @Resource('test://static-binary', { description: 'A picture.', mime: 'image/png' })
  binary() {
    return reply(Buffer.from(picture.data, 'base64')).type('image/png')
  }

  @Resource('test://template/{id}/data', {
    description: 'Data by id.',
    mime: 'application/json',
    complete: (text) => ['1', '2', '123'].filter((id) => id.startsWith(text)),
  })
  data(id: string): object {
    return { id, templateTest: true, data: `Data for ID: ${id}` }
  }

  @Resource('test://watched-resource', { description: 'A text.', mime: 'text/plain' })
  watched(): string {
    return 'Watched resource content'
  }
}

class TwoArguments {
  @Field('string', { description: 'The first one.' }) arg1!: string
  @Field('string', { description: 'The second one.' }) arg2!: string
}

class OfResource {
  @Field('string', { description: 'The resource to embed.' }) resourceUri!: string
}

class Context {
  @Field('string') context!: string
}

@Controller()
class Prompts {
  @Prompt({ name: 'test_simple_prompt', description: 'A prompt without arguments.' })
  simple(): string {
    return 'This is a simple prompt for testing.'
  }

  @Prompt({
    name: 'test_prompt_with_arguments',
    description: 'A prompt with two arguments.',
    arguments: TwoArguments,
    complete: (text) => ['paris', 'park', 'party'].filter((word) => word.startsWith(text)),
  })
  withArguments(query: TwoArguments): string {
    return `Prompt with arguments: arg1='${query.arg1}', arg2='${query.arg2}'`
  }

  @Prompt({
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt with a resource.',
    arguments: OfResource,
  })
  embedded(query: OfResource): object {
    const text = 'Embedded resource content for testing.'
    const resource = { uri: query.resourceUri, mimeType: 'text/plain', text }
    return {
      messages: [
        { content: { type: 'resource', resource } },
        { content: 'Please process the embedded resource above.' },
      ],
    }
  }

  @Prompt({ name: 'test_prompt_with_image', description: 'A prompt with a picture.' })
  image(): object {
    return { messages: [{ content: picture }, { content: 'Please analyze the image above.' }] }
  }

  @Prompt({ name: 'test_input_required_result_prompt', description: 'A prompt that asks first.' })
  async asking(toolCall: ToolCall | null): Promise<string> {
    const answer = await toolCall?.ask(
      'user_context',
      Context,
      'What context should the prompt use?',
    )
    return `Use the following context: ${answer?.context ?? 'none'}`
  }
}

@Module({
  controllers: [PlainTools, AskingTools, Resources, Prompts],
  imports: [mcp({ name: 'filigree-conformance' })],
})
class ConformanceModule {}

await bootstrap(ConformanceModule)
