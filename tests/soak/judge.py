def judge(folder, tidemark, status):
    print(status)
    return status == 0
