import { expect, it } from 'vitest';
import { explainRedisError } from '../../../src/state/redis-errors.ts';

function reply(message: string, previousErrors?: readonly Error[]): Error {
  const error = Object.assign(new Error(message), { name: 'ReplyError', previousErrors });
  return Object.assign(error, { command: { name: 'hset', args: ['a key of a row'] } });
}
const coded = (code: string, text: string): Error => Object.assign(new Error(text), { code });

const IN_A_SCRIPT = 'ERR Error running script (call to f_1): @user_script:48: @user_script: 48: ';
it.each([
  ['OOM command not allowed', 'full'],
  [`${IN_A_SCRIPT}-OOM command not allowed`, 'full'],
  ["OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user_script:48.", 'full'],
  ['WRONGPASS invalid username-password pair', 'password'],
  ['ERR invalid password', 'password'],
  ['NOAUTH Authentication required.', 'password'],
  ["NOPERM this user has no permissions to run the 'eval' command", 'permit'],
  ["ERR The user executing the script can't run this command script: 3f20, on @user_script:1.", 'permit'],
  ["ERR ACL failure in script: User x has no permissions to run the 'hset' command script: 3f20", 'permit'],
  [`${IN_A_SCRIPT}The user executing the script can't access at least one of the keys`, 'permit'],
  ['MOVED 3999 127.0.0.1:6381', 'Cluster'],
  ['MISCONF Errors writing to the AOF file', 'save'],
  ['ERR max number of clients reached', 'no more clients'],
  ['ERR something new', 'does not know'],
  ['ERR This instance has cluster support disabled', 'not a Redis Cluster'],
  ['READONLY You cannot write against a read only replica.', 'replica', 'INDEX_UNREACHABLE'],
  ['LOADING Redis is loading the dataset in memory', 'loading', 'INDEX_UNREACHABLE'],
])('the error for a reply of Redis says "$1" (case %$)', (message, word, code = 'INDEX_REFUSED') => {
  const error = explainRedisError(reply(message), 'redis.example:6379');
  expect(error).toMatchObject({ code, message: expect.stringContaining(word) });
  expect(error.message).toContain('redis.example:6379');
});

it('the cause of a failed transaction of Redis is shown', () => {
  const error = reply('EXECABORT Transaction discarded because of previous errors.', [reply('OOM no')]);
  expect(explainRedisError(error, 'a:1').message).toContain('full');
});

it.each([
  reply('KARI is at 01017012345'),
  reply('ERR unknown command, with args beginning with: kari'),
  new Error('kari 01017012345'),
  coded('kari 01017012345', 'x'),
])('an error of Redis shows neither words of the server nor a key of a row', (error) => {
  const explained = explainRedisError(error, 'a:1');
  const shown = `${explained.message} ${explained.remedy} ${JSON.stringify(explained)} ${explained.stack}`;
  expect(shown).not.toMatch(/kari|0101|a key of a row/i);
});

it('a host name of Redis that cannot be resolved is named as the cause, with DNS to check', () => {
  const message = 'Redis at a:1 does not answer: its host name cannot be resolved';
  const error = explainRedisError(coded('ENOTFOUND', 'getaddrinfo ENOTFOUND a'), 'a:1');
  expect(error).toMatchObject({ code: 'INDEX_UNREACHABLE', message });
  expect(error.remedy).toContain('DNS');
});

const refused = coded('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1');
it.each([refused, new AggregateError([refused])])(
  'a refused connection to Redis may pass, and its error says where nothing listens',
  (error) => {
    const message = 'Redis at a:1 does not answer: nothing listens there (ECONNREFUSED)';
    const remedy = 'Start Redis there, or correct the host and port in redis.url.';
    expect(explainRedisError(error, 'a:1')).toMatchObject({ code: 'INDEX_UNREACHABLE', message, remedy });
  },
);

it.each([
  ['TRYAGAIN Multiple keys request during rehashing of slot', 'is moving keys'],
  ['CLUSTERDOWN The cluster is down', 'cluster is down'],
  ['MOVED 3999 127.0.0.1:6381', 'is moving keys'],
])('Rollcall waits for a Cluster that answers $0', (last, word) => {
  const error = new Error(`Too many Cluster redirections. Last error: ReplyError: ${last}`);
  const message = expect.stringContaining(word);
  expect(explainRedisError(error, 'a:1')).toMatchObject({ code: 'INDEX_UNREACHABLE', message });
});
