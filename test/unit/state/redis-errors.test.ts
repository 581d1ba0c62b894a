import { describe, expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { explainRedisError } from '../../../src/state/redis-errors.ts';

function reply(message: string, previousErrors?: readonly Error[]): Error {
  const error = new Error(message);
  error.name = 'ReplyError';
  return Object.assign(error, { command: { name: 'hset', args: ['a key of a row'] } }, { previousErrors });
}

describe('errors of Redis', () => {
  it.each([
    ['OOM command not allowed', 'INDEX_REFUSED', 'full'],
    [
      'ERR Error running script (call to f_1): @user_script:48: @user_script: 48: -OOM command not allowed',
      'INDEX_REFUSED',
      'full',
    ],
    [
      "OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user_script:48.",
      'INDEX_REFUSED',
      'full',
    ],
    ['WRONGPASS invalid username-password pair', 'INDEX_REFUSED', 'password'],
    ['ERR invalid password', 'INDEX_REFUSED', 'password'],
    ['NOAUTH Authentication required.', 'INDEX_REFUSED', 'password'],
    ["NOPERM this user has no permissions to run the 'eval' command", 'INDEX_REFUSED', 'permit'],
    ['MOVED 3999 127.0.0.1:6381', 'INDEX_REFUSED', 'Cluster'],
    ['MISCONF Errors writing to the AOF file', 'INDEX_REFUSED', 'save'],
    ['READONLY You cannot write against a read only replica.', 'INDEX_UNREACHABLE', 'replica'],
    ['LOADING Redis is loading the dataset in memory', 'INDEX_UNREACHABLE', 'loading'],
    ['ERR max number of clients reached', 'INDEX_REFUSED', 'no more clients'],
    [
      "ERR The user executing the script can't run this command or subcommand script: 3f20, on @user_script:1.",
      'INDEX_REFUSED',
      'permit',
    ],
    [
      "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: The user executing the script can't access at least one of the keys mentioned in the command arguments",
      'INDEX_REFUSED',
      'permit',
    ],
    ['ERR something new', 'INDEX_REFUSED', 'does not know'],
  ])('%s is explained as what it is', (message, code, word) => {
    const error = explainRedisError(reply(message), 'redis.example:6379');
    expect(error).toMatchObject({ code, message: expect.stringContaining(word) });
    expect(error.message).toContain('redis.example:6379');
  });

  it('the cause of a failed transaction is shown', () => {
    const error = reply('EXECABORT Transaction discarded because of previous errors.', [reply('OOM no')]);
    expect(explainRedisError(error, 'a:1').message).toContain('full');
  });

  it.each([
    reply('KARI is at 01017012345'),
    reply('ERR unknown command, with args beginning with: kari'),
    new Error('kari 01017012345'),
    Object.assign(new Error('x'), { code: 'kari 01017012345' }),
  ])('neither the server’s own words nor a key of a row appear in an error', (error) => {
    const explained = explainRedisError(error, 'a:1');
    const shown = `${explained.message} ${explained.remedy} ${JSON.stringify(explained)} ${explained.stack}`;
    expect(shown).not.toMatch(/kari|0101|a key of a row/i);
  });

  it('a connection error is transient, and shows its reason', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
    for (const error of [refused, new AggregateError([refused])]) {
      expect(explainRedisError(error, 'a:1')).toMatchObject({
        code: 'INDEX_UNREACHABLE',
        message: 'Redis at a:1 does not answer: ECONNREFUSED',
      });
    }
  });

  it('an explained error stays as it is', () => {
    const error = new RollcallError('INDEX_DIVERGED', 'elsewhere', { remedy: 'None.' });
    expect(explainRedisError(error, 'a:1')).toBe(error);
  });
});
